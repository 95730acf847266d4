//! Real commands that try to change a guarded file, to read a key, or to reach a process outside.

#![cfg(target_os = "linux")]

mod support;

use support::{CANARY, User, World, text};

/// Scripts of bash. `BRE''ACH` is printed where an attack can see its own success.
const ATTACKS: &[&str] = &[
    // Writing.
    ": > ~/.claude/settings.json",
    "echo x >> \"$SETTINGS\"",
    "echo x > ~/.?laude/s*.json",
    "cd ~/.cl*; echo x > settings.json",
    "d=$(echo ~/.claude); tee $d/settings.json < /dev/null",
    "cp /dev/null ~/.codex/hooks.json",
    "dd if=/dev/zero of=$HOME/.codex/hooks.json bs=1 count=1",
    "truncate -s 0 hookhost.toml",
    "truncate -s 0 [h]ookhost.toml ./ho?khost.toml",
    "sed -i s/#/x/ hookhost.toml ~/.bashrc ~/.claude/settings.json",
    "perl -i -pe 's/#/x/' ~/.bashrc",
    "perl -e 'open F, \"+<\", $ENV{SETTINGS} and print F \"x\"'",
    "python3 -c 'import os; os.truncate(os.environ[\"SETTINGS\"], 0)'",
    "python3 -c 'import os, mmap; f = open(os.environ[\"SETTINGS\"], \"r+b\"); mmap.mmap(f.fileno(), 0)[0] = 1'",
    "exec 3<> \"$SETTINGS\"; echo x >&3",
    "exec 3< \"$SETTINGS\"; echo x > /proc/self/fd/3",
    "exec 3< \"$SETTINGS\"; echo x > /dev/fd/3",
    "echo x > /proc/self/root/$SETTINGS",
    "echo x > /proc/self/cwd/hookhost.toml",
    "echo x > /proc/1/root/$SETTINGS",
    "ln -s \"$SETTINGS\" link; echo x > link",
    "ln \"$SETTINGS\" hard; echo x > hard",
    "ln \"$SETTINGS\" ~/.claude/hard; echo x > ~/.claude/hard",
    "cp -l ~/.bashrc ~/b2 && echo x > ~/b2",
    "touch -d 2000-01-01 ~/.claude/settings.json && echo BRE''ACH",
    "echo x > ~/.gemini/settings.json",
    "echo x > ~/dotfiles/gemini/settings.json",
    "find ~ -name 'settings.json' -exec truncate -s 0 {} +",
    "find ~/../home -path '*hookhost/hookhost.db' -exec rm -f {} \\;",
    "git config -f ~/.claude/settings.json a.b c",
    "echo evil > .git/hooks/pre-commit",
    "echo evil > .git/hooks/post-checkout && echo BRE''ACH",
    "echo evil > ~/.local/bin/git && echo BRE''ACH",
    "touch ~/.config/hookhost/new.toml && echo BRE''ACH",
    "mkfifo ~/.local/state/hookhost/pipe && echo BRE''ACH",
    "fallocate -p -o 0 -l 4 \"$SETTINGS\"",
    "tar -C ~ -cf a.tar .claude/history; tar -C ~ --overwrite -xf a.tar; echo x | tee ~/.bashrc ~/.ssh/config",
    "chmod 777 \"$SETTINGS\"; chmod -R a-x ~/.local/bin ~/.config/hookhost",
    "chmod 000 ~/.claude ~/.config ~/dotfiles ~/dotfiles/gemini; exit 1",
    "chmod -R 000 ~; sleep .1",
    "setfacl -m u:nobody:rw \"$SETTINGS\"",
    "chown nobody \"$SETTINGS\"",
    "chattr +i \"$SETTINGS\"; setfattr -n user.x -v y \"$SETTINGS\" && echo BRE''ACH",
    // Removing and renaming.
    "rm -f ~/.claude/settings.json",
    "unlink \"$SETTINGS\"",
    "rm -rf ~/.claude ~/.codex ~/.config ~/.local ~/.ssh",
    "find ~ -delete",
    "mv ~/.claude/settings.json ~/.claude/old; echo x > ~/.claude/settings.json",
    "mv ~/.claude ~/c2; mkdir ~/.claude; echo x > ~/.claude/settings.json",
    "mv ~/.config ~/c2",
    "mv ~/.local ~/l2",
    "mv ../project ../p2 && ln -s p2 ../project",
    "cd ..; mv project p2; cp -r p2 project",
    "mv ~ ${HOME}2; mv \"$(dirname ~)\" /tmp/away",
    "rm ~/.gemini; mkdir ~/.gemini; echo x > ~/.gemini/settings.json",
    "ln -sfn /tmp ~/.gemini && echo BRE''ACH",
    "mv ~/.gemini ~/g2; mv ~/dotfiles ~/d2; mv ~/dotfiles/gemini ~/g3",
    "echo x > new; mv -f new hookhost.toml",
    "echo x > ~/.claude/new; perl -e 'rename \"$ENV{HOME}/.claude/new\", $ENV{SETTINGS}'",
    "python3 -c 'import os; open(\"n\", \"w\"); os.replace(\"n\", \"hookhost.toml\")'",
    "perl -e 'syscall(316, -100, \"$ENV{HOME}/.claude\", -100, \"$ENV{HOME}/dotfiles\", 2)'",
    "rsync -a --delete /dev/null ~/.claude/",
    "git init -q . && git add -A && git rm -f --quiet hookhost.toml && git clean -fdxq",
    // Mounts.
    "umount \"$SETTINGS\"; echo x > \"$SETTINGS\"",
    "umount -l ~/.claude; umount -l ~; echo x > \"$SETTINGS\"",
    "mount -o remount,rw,bind \"$SETTINGS\"; echo x > \"$SETTINGS\"",
    "unshare -Urm bash -c 'umount \"$SETTINGS\"; umount -l \"$SETTINGS\"; echo x > \"$SETTINGS\"'",
    "unshare -Urm bash -c 'umount -l ~/.claude; umount -l ~; umount -lR /; echo x > \"$SETTINGS\"'",
    "unshare -Urm bash -c 'mount -o remount,rw,bind \"$SETTINGS\"; echo x > \"$SETTINGS\"'",
    "unshare -Urm bash -c 'mount -o remount,rw ~/.config/hookhost; echo x > ~/.config/hookhost/hookhost.toml'",
    "unshare -Urm bash -c 'mkdir /tmp/m$$; mount --bind ~/.claude /tmp/m$$; echo x > /tmp/m$$/settings.json'",
    "unshare -Urm bash -c 'mkdir /tmp/m$$; mount --rbind ~ /tmp/m$$; umount -l /tmp/m$$/.claude; echo x > /tmp/m$$/.claude/settings.json'",
    "unshare -Urm bash -c 'mount --make-rprivate /; umount -lR ~; cat \"$KEY\"'",
    "unshare -Urm bash -c 'mount --move ~/.claude /mnt; echo x > /mnt/settings.json; echo x > \"$SETTINGS\"'",
    "unshare -Urm bash -c 'mount -t tmpfs t ~/.claude; echo evil > \"$SETTINGS\"'",
    "unshare -Urm bash -c 'mkdir -p /tmp/o$$/{u,w}; mount -t overlay o -o lowerdir=$HOME/.ssh,upperdir=/tmp/o$$/u,workdir=/tmp/o$$/w /mnt; cat /mnt/id*; echo x > /mnt/config'",
    "unshare -Urmpf --mount-proc bash -c 'echo x > /proc/1/root/$SETTINGS; umount -l \"$KEY\"; cat \"$KEY\"'",
    "unshare -Ur unshare -Urm bash -c 'umount -l \"$KEY\"; cat \"$KEY\"'",
    "unshare -Urm perl -e 'my $t = syscall(428, -100, \"$ENV{HOME}/.ssh\", 1); chdir \"/proc/self/fd/$t\"; print <STDIN> if open STDIN, \"id_ed25519\"'",
    "unshare -Urm perl -e 'syscall(442, -100, $ENV{SETTINGS}, 0, pack(\"QQQQ\", 0, 1, 0, 0), 32); open F, \">\", $ENV{SETTINGS} and print F 1'",
    "unshare -Urm chroot / bash -c 'echo x > \"$SETTINGS\"; cat \"$KEY\"'",
    "nsenter -t 1 -m bash -c 'umount -l \"$KEY\"; cat \"$KEY\"'",
    "nsenter -t 1 -a true && echo BRE''ACH",
    "nsenter -t $VICTIM -m true && echo BRE''ACH",
    "nsenter --mount=/proc/1/ns/mnt umount \"$SETTINGS\" && echo BRE''ACH",
    // Keys.
    "cat \"$KEY\" ~/.config/hookhost/keys.toml ~/.keys/*",
    "cp \"$KEY\" k; chmod 644 k; cat k",
    "chmod 644 \"$KEY\"; cat \"$KEY\"; chmod 755 ~/.keys; cat ~/.keys/token",
    "cd ~/.keys; cat token; tar -C ~ -cO .ssh .keys .config",
    "exec 3< \"$KEY\"; cat <&3; ln \"$KEY\" k; cat k; mv \"$KEY\" k; cat k",
    "unshare -Ur cat \"$KEY\" ~/.keys/token ~/.config/hookhost/keys.toml",
    "cat /proc/1/root/\"$KEY\" /proc/self/root/\"$KEY\"",
    "base64 -w0 \"$KEY\" | base64 -d; od -c \"$KEY\"; grep -r canary ~",
    "dd if=/dev/vda bs=1M count=1 2> /dev/null | head -c1 | grep -q . && echo BRE''ACH; debugfs -R 'cat '\"$KEY\" /dev/vda",
    "mknod disk b 254 0 && head -c1 disk > /dev/null && echo BRE''ACH; mknod ~/.local/disk b 8 0 && head -c1 ~/.local/disk && echo BRE''ACH",
    "ls -A ~/.keys | grep -q . && echo BRE''ACH",
    "perl -e 'my $h = pack(\"iia128\", 128, 0, \"\"); my $m = pack(\"i\", 0); syscall(303, -100, $ENV{KEY}, $h, $m, 0); open D, \"/\"; my $f = syscall(304, fileno(D), $h, 0); open(K, \"<&=\", $f) and print <K>'",
    // Processes outside.
    "kill -9 $VICTIM; kill -STOP $VICTIM; kill -TERM $VICTIM",
    "kill -9 -1; kill -9 0",
    "pkill -9 -f 'sleep 100000'; killall -9 sleep; pkill -u $USER",
    "prlimit --pid $VICTIM --nofile=3 --nproc=1; prlimit -p $PPID -n3 && echo BRE''ACH",
    "prlimit --pid 1 --nofile=3 && echo BRE''ACH; prlimit --pid 0 --nofile=900 || echo cannot",
    "renice 19 -p $VICTIM; renice 19 -u $USER; renice 19 -p 1 && echo BRE''ACH",
    "taskset -p 1 $VICTIM; chrt -i -p 0 $VICTIM; ionice -c3 -p $VICTIM; sleep 5 & taskset -p 1 $! && echo BRE''ACH",
    "tr '\\0' '\\n' < /proc/$VICTIM/environ; cat /proc/$VICTIM/mem",
    "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done 2> /dev/null | grep SECRET=",
    "ls /proc/$VICTIM/fd 2> /dev/null && readlink /proc/$VICTIM/exe && echo BRE''ACH",
    "strace -p $VICTIM -o /dev/null & sleep .1; kill %1; gdb -p $VICTIM -batch; strace -p 1 2>&1 | grep -q attached && echo BRE''ACH",
    "perl -e 'print \"BRE\", \"ACH\" if syscall(101, 16, 1, 0, 0) == 0'",
    "perl -e 'my $p = syscall(434, $ENV{VICTIM}, 0); syscall(424, $p, 9, 0, 0) if $p >= 0'",
    "ls -l /proc/1/fd/* 2> /dev/null | grep -q socket && echo BRE''ACH; cat /proc/1/environ 2> /dev/null | grep -q . && echo BRE''ACH",
    "kill -9 1; kill -STOP 1; kill -TERM 1; kill -INT 1; kill -HUP 1; exit 1",
    "perl -e 'print \"BRE\", \"ACH\" if syscall(425, 4, \"\\0\" x 120) >= 0'",
    "perl -e 'print \"BRE\", \"ACH\" if syscall(250, 0, -3, 1) >= 0 or syscall(248, \"user\", \"x\", \"y\", 1, -3) >= 0'",
    // Sockets.
    "perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0; print \"BRE\", \"ACH\" if connect S, pack_sockaddr_un(\"$ENV{HOME}/agent.sock\")'",
    "rm ~/agent.sock; mv ~/agent.sock ~/a2; perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0; print \"BRE\", \"ACH\" if connect S, pack_sockaddr_un(\"$ENV{HOME}/a2\")'",
    "perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0; print \"BRE\", \"ACH\" if connect S, pack(\"Sa*\", AF_UNIX, \"\\0$ENV{ABSTRACT}\")'",
    "unshare -Urm perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0; print \"BRE\", \"ACH\" if connect S, pack(\"Sa*\", AF_UNIX, \"\\0$ENV{ABSTRACT}\")'",
    "rm -f ~/.local/state/hookhost/host.sock && echo BRE''ACH",
    "ls /run/user/$(id -u)/* 2> /dev/null | grep -q . && echo BRE''ACH",
    // The machine.
    "echo h > /proc/sysrq-trigger && echo BRE''ACH",
    "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern && echo BRE''ACH",
    "mkdir /sys/fs/cgroup/hx$$ && echo BRE''ACH; mkdir /sys/fs/cgroup/*/hx$$ && echo BRE''ACH",
    "unshare -UrC bash -c 'mkdir /sys/fs/cgroup/*/hx$$ && echo BRE''ACH'",
    "echo 0 > /sys/kernel/mm/ksm/run && echo BRE''ACH",
    "ls /dev/vda /dev/sda /dev/mem /dev/kmsg /dev/tty1 /dev/input /dev/uinput 2> /dev/null | grep -q . && echo BRE''ACH",
    "mount -t debugfs d /mnt && echo BRE''ACH; mount -t cgroup c /mnt && echo BRE''ACH",
    "modprobe loop && echo BRE''ACH; hostname hx && echo BRE''ACH; date -s @0 && echo BRE''ACH",
    "perl -ne 'print \"BRE\", \"ACH\" if /^Cap(Prm|Eff|Bnd|Amb):\\s*(\\w+)/ and hex($2) >> 21 & 1' /proc/self/status",
];

/// Attacks that succeed without protection, so the checks see damage.
const CONTROLS: &[&str] = &[
    ": > ~/.claude/settings.json",
    "mv ~/.claude ~/c2",
    "ln \"$SETTINGS\" hard; echo x > hard",
    "cat \"$KEY\"",
    "chmod 777 \"$SETTINGS\"",
    "kill -9 $VICTIM",
    "prlimit --pid $VICTIM --nofile=3",
    "renice 19 -p $VICTIM",
    "tr '\\0' '\\n' < /proc/$VICTIM/environ",
    "perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0; print \"BRE\", \"ACH\" if connect S, pack(\"Sa*\", AF_UNIX, \"\\0$ENV{ABSTRACT}\")'",
];

/// Returns what an attack has reached.
fn reached(world: &mut World, output: &str) -> Vec<String> {
    let mut reached = world.damage();
    if output.contains("BREACH") {
        reached.push("it says that it has succeeded".to_owned());
    }
    if output.contains(CANARY) {
        reached.push("it has read a key".to_owned());
    }
    reached
}

#[test]
fn no_attack_inside_reaches_anything() {
    assert!(ATTACKS.len() >= 60);
    for user in User::all("attack") {
        let mut world = World::new(user);
        // Without the namespaces, some attacks would be real ones on this machine.
        let complaints = text(&world.inside("true"));
        if complaints.contains("second line: partly") {
            eprintln!("skipped, because there are no namespaces here: {complaints}");
            continue;
        }
        assert_eq!(complaints, "");
        let mut broken = Vec::new();
        for attack in ATTACKS {
            let output = text(&world.inside(attack));
            assert!(!output.contains("inside: the program is not started"), "{output}");
            let reached = reached(&mut world, &output);
            if !reached.is_empty() {
                broken.push(format!("{attack}\n    {}\n    {output}", reached.join("\n    ")));
            }
        }
        let name = if world.user.is_root() { "root" } else { "an ordinary user" };
        assert!(broken.is_empty(), "{} of {} as {name}:\n{}", broken.len(), ATTACKS.len(), broken.join("\n"));
        eprintln!("{} attacks as {name} have reached nothing", ATTACKS.len());
    }
}

/// Parts of attacks that succeed without namespaces, as the notice says.
const OPEN_IN_FALLBACK: [&str; 6] = [
    // Sockets at paths.
    "agent.sock",
    // Names in directories.
    "ls -A ~/.keys",
    "ls /dev/vda",
    // Modes and times.
    "touch -d 2000",
    "chmod 777 \"$SETTINGS\"",
    "chmod -R 000 ~",
];

#[test]
fn in_the_fallback_only_what_the_notice_names_is_reached() {
    let mut world = World::new(User::ordinary("fallback"));
    let mut broken = Vec::new();
    for attack in ATTACKS {
        let output = world.inside_below(&support::NO_NAMESPACES, attack);
        if output.status.code() == Some(77) {
            eprintln!("skipped, because the limit cannot be set here");
            return;
        }
        let output = text(&output);
        assert!(output.contains("second line: partly, because"), "{output}");
        let reached = reached(&mut world, &output);
        if !reached.is_empty() && !OPEN_IN_FALLBACK.iter().any(|open| attack.contains(open)) {
            broken.push(format!("{attack}\n    {}\n    {output}", reached.join("\n    ")));
        }
    }
    assert!(broken.is_empty(), "{} of {}:\n{}", broken.len(), ATTACKS.len(), broken.join("\n"));
}

#[test]
fn the_checks_see_attacks_that_succeed() {
    let mut world = World::new(User::ordinary("control"));
    for attack in CONTROLS {
        let output = text(&world.outside(attack));
        // A signal takes its time.
        let is_seen = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            !reached(&mut world, &output).is_empty()
        });
        assert!(is_seen, "{attack} reaches nothing without protection: {output}");
    }
}
