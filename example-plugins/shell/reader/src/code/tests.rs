//! Tests of the effects of code in other languages.

use super::calls::{CodeEffect, found};
use super::names;
use super::{Language, language, m4, tcl, tokens};

/// Returns the effects of `code`: `run`, `code` or `write` and the words, with `?` for an unknown part.
fn does(language: Language, code: &str) -> Vec<String> {
    let (tokens, mut work) = (tokens::of(code, language), 0);
    let shown = |found: CodeEffect| match found {
        CodeEffect::Text(text) => format!("run {}", text.text),
        CodeEffect::Words(words) => {
            format!("run {}", words.iter().map(|word| format!("[{}]", word.text)).collect::<String>())
        }
        CodeEffect::Code(code) => format!("code {code}"),
        CodeEffect::Write(file) => format!("write {}", file.text),
        CodeEffect::Read(file) => format!("read {}", file.text),
        CodeEffect::Decoded => "decoded".into(),
    };
    found(&tokens, language, &mut work).into_iter().map(|found| shown(found).replace('\u{1A}', "?")).collect()
}

#[test]
fn literal_commands_are_found_in_each_language() {
    for (language, code, expected) in [
        (Language::Python, "import os; os.system('rm -rf /')", "run rm -rf /"),
        (Language::Python, "import subprocess as s\ns.run(['rm', '-rf', x], check=True)", "run [rm][-rf][?]"),
        (Language::Python, "import os; os.execvp('rm', ['rm', '-rf', '/'])", "run [rm][-rf][/]"),
        (Language::Python, "os.system(f'rm -rf {x}/y')", "run rm -rf ?/y"),
        (Language::Python, "c = 'rm ' + '-rf /'\nos.system(c)", "run rm -rf /"),
        (Language::Python, "subprocess.call('rm -rf /'.split())", "run [rm][-rf][/]"),
        (Language::Python, "exec(\"os.system('x')\")", "code os.system('x')"),
        (Language::Script, "require('child_process').spawnSync('rm', ['-rf', '/'])", "run [rm][-rf][/]"),
        (Language::Script, "new Deno.Command('rm', {args: ['-rf', '/']})", "run [rm][-rf][/]"),
        (Language::Perl, "system(\"rm\", \"-rf\", \"/\")", "run [rm][-rf][/]"),
        (Language::Perl, "qx{rm -rf $x}", "run rm -rf ?"),
        (Language::Perl, "open(F, '|rm -rf /')", "run rm -rf /"),
        (Language::Python, "os.system('rm -rf %s' % '/')", "run rm -rf /"),
        (Language::Awk, "BEGIN { \"rm -rf /\" |& getline }", "run rm -rf /"),
        (Language::Ruby, "system \"rm -rf #{x}\"", "run rm -rf ?"),
        (Language::Ruby, "%x(rm -rf /)", "run rm -rf /"),
        (Language::Php, "popen('rm -rf /', 'r');", "run rm -rf /"),
        (Language::Lua, "os.execute(\"rm -rf /\") -- x", "run rm -rf /"),
        (Language::Awk, "BEGIN { \"rm -rf /\" | getline }", "run rm -rf /"),
        (Language::Awk, "{ print $1 | \"sort -u\" }", "run sort -u"),
        (Language::Other, "do shell script \"rm -rf /\"", "run rm -rf /"),
    ] {
        assert_eq!(does(language, code), [expected], "{code}");
    }
}

#[test]
fn removed_and_written_files_are_found() {
    for (language, code, expected) in [
        (Language::Python, "shutil.rmtree('/')", "run [rm][-rf][/]"),
        (Language::Python, "os.remove('/etc/x')", "run [rm][-f][/etc/x]"),
        (Language::Python, "shutil.rmtree(os.path.expanduser('~'))", "run [rm][-rf][~]"),
        (Language::Python, "Path('/etc/x').unlink()", "run [rm][-f][/etc/x]"),
        (Language::Python, "open('/etc/x', 'w').write('y')", "write /etc/x"),
        (Language::Script, "fs.rmSync(process.env.HOME, {recursive: true})", "run [rm][-rf][~]"),
        (Language::Script, "fs.writeFileSync('/etc/x', 'y')", "write /etc/x"),
        (Language::Python, "Path('/etc/x').write_text('')", "write /etc/x"),
        (Language::Python, "os.rename('/etc/x', 'y')", "run [mv][/etc/x][y]"),
        (Language::Perl, "unlink '/etc/x'", "run [rm][-f][/etc/x]"),
        (Language::Perl, "open(F, '>', '/etc/x')", "write /etc/x"),
        (Language::Ruby, "FileUtils.rm_rf('/')", "run [rm][-rf][/]"),
        (Language::Awk, "{ print > \"/etc/x\" }", "write /etc/x"),
    ] {
        assert_eq!(does(language, code), [expected], "{code}");
    }
}

#[test]
fn secrets_that_are_read_are_found_and_what_is_done_with_them() {
    for (language, code, expected) in [
        (Language::Python, "print(open('/x/.ssh/id_rsa').read())", "read /x/.ssh/id_rsa"),
        (Language::Python, "open('.env', 'rb')", "read .env"),
        (Language::Python, "print(Path('.env').read_text())", "read .env"),
        (Language::Python, "(Path.home() / '.ssh' / 'id_rsa').read_text()", "read ~/.ssh/id_rsa"),
        (Language::Python, "p = Path('.env')\nprint(p.read_text())", "read .env"),
        (Language::Script, "fs.readFileSync(process.env.HOME+'/.ssh/id_rsa')", "read ~/.ssh/id_rsa"),
        (Language::Script, "await Deno.readTextFile('.env')", "read .env"),
        (Language::Ruby, "puts File.read(File.expand_path('~/.aws/credentials'))", "read ~/.aws/credentials"),
        (Language::Perl, "open(F, '<', '/etc/shadow'); print <F>", "read /etc/shadow"),
        (Language::Php, "echo file_get_contents('.env');", "read .env"),
        (Language::Lua, "print(io.open('.env'):read('*a'))", "read .env"),
    ] {
        assert_eq!(does(language, code), [expected], "{code}");
    }
    let outlet = |code| names::outlet(&tokens::of(code, Language::Python)).and_then(|words| words.first().copied());
    assert_eq!(outlet("requests.post(u, data=open('.env'))"), Some("curl"));
    assert_eq!(outlet("print(open('.env').read())"), Some("cat"));
    assert_eq!(outlet("k = load(open('x.pem').read())"), None);
}

#[test]
fn what_is_decoded_and_run_is_found() {
    for (language, code) in [
        (Language::Python, "os.system(base64.b64decode('eA=='))"),
        (Language::Python, "c = bytes.fromhex('78').decode()\nos.system(c)"),
        (Language::Python, "exec(zlib.decompress(x))"),
        (Language::Script, "require('child_process').exec(Buffer.from('eA==', 'base64').toString())"),
        (Language::Perl, "system(pack('H*', '78'))"),
        (Language::Ruby, "system(['eA=='].pack('m'))"),
    ] {
        assert_eq!(does(language, code), ["decoded"], "{code}");
    }
}

#[test]
fn what_only_looks_so_is_left() {
    for (language, code) in [
        (Language::Python, "print('os.system(\"x\")')"),
        (Language::Python, "# os.system('x')"),
        (Language::Python, "print(base64.b64decode('eA=='))"),
        (Language::Python, "l.remove(1); open('x').read(); open('x', 'r')"),
        (Language::Python, "app.run('x'); os.remove(x)"),
        (Language::Python, "open('.env.example'); open('ca.pem'); print(open('x.py').read())"),
        (Language::Script, "/a/.exec('x'); // fs.rmSync('/')"),
        (Language::Awk, "{ if ($1 || \"x\") print }"),
        (Language::Lua, "db.execute('delete')"),
    ] {
        assert_eq!(does(language, code), Vec::<String>::new(), "{code}");
    }
}

#[test]
fn the_commands_of_tcl_are_read_line_by_line() {
    assert_eq!(tcl("puts hi; exec rm -rf /\nspawn -noecho ls [exec id]"), ["rm -rf /", "ls", "id"]);
    assert_eq!(language("expect"), Some(Language::Tcl));
}

#[test]
fn the_work_grows_no_faster_than_the_code() {
    for part in [
        "system(",
        "system('x', ",
        "x = (",
        "f'{",
        "os.system('a' + ",
        "for x in (",
        "for x in glob('y'): ",
        "map(",
        "(x)(",
        "x['a'](",
        "getattr(",
        "x = y as ",
        "reverse(",
        "'x'[::-1]",
        "[::-",
    ] {
        let work = |count: usize| {
            let mut work = 0;
            found(&tokens::of(&part.repeat(count), Language::Python), Language::Python, &mut work);
            work
        };
        assert!(work(2000) < work(1000) * 3, "{part}: {} and {}", work(1000), work(2000));
    }
}

#[test]
fn a_text_does_not_double_itself_without_end() {
    for line in [
        "x = x + x\n",
        "x = '%s%s' % x\n",
        "x = x.replace('a', 'aaaa')\n",
        "x = '{0}{0}'.format(x)\n",
        "x = 'a'.join([x, x])\n",
    ] {
        let code = format!("x = 'aaaaaaaa'\n{}os.system(x)", line.repeat(60));
        let most = does(Language::Python, &code).iter().map(String::len).max().unwrap_or_default();
        assert!(most < 1_000_000, "{line}: {most}");
    }
}

#[test]
fn calls_by_another_name_and_loops_are_followed() {
    for (language, code, expected) in [
        (Language::Python, "getattr(os, 'sys' + 'tem')('x')", "run x"),
        (Language::Python, "from os import system as s\ns('x')", "run x"),
        (Language::Python, "f = os.system; f('x')", "run x"),
        (Language::Python, "os.__dict__['sys' + 'tem']('x')", "run x"),
        (Language::Python, "list(map(shutil.rmtree, ['/a', '/b']))", "run [rm][-rf][/a][/b]"),
        (
            Language::Python,
            "[os.remove(f) for f in glob.glob('/a/*.o')]",
            "run [find][/a/][-type][f][-name][*.o][-delete]",
        ),
        (
            Language::Python,
            "for d, _, fs in os.walk('/a'):\n  os.remove(os.path.join(d, f))",
            "run [find][/a/][-type][f][-delete]",
        ),
        (Language::Python, "for p in Path('/a').rglob('*'):\n  p.unlink()", "run [find][/a/][-type][f][-delete]"),
        (Language::Script, "fs['rm' + 'Sync']('/a', {recursive: true})", "run [rm][-rf][/a]"),
        (Language::Ruby, "Kernel.send('sys' + 'tem', 'x')", "run x"),
        (Language::Ruby, "Dir.glob('/a/*').each { |f| File.delete(f) }", "run [find][/a/][-type][f][-delete]"),
        (Language::Perl, "unlink for glob('/a/*')", "run [find][/a/][-type][f][-delete]"),
        (Language::Perl, "find(sub { unlink }, '/a')", "run [rm][-rf][/a]"),
        (Language::Php, "('sys' . 'tem')('x');", "run x"),
        (Language::Php, "$f = 'system'; $f('x');", "run x"),
        (Language::Lua, "os['exe' .. 'cute']('x')", "run x"),
        (Language::Python, "os.system('x fr- mr'[::-1])", "run rm -rf x"),
        (Language::Python, "os.system('{} x'.format('rm'))", "run rm x"),
        (Language::Lisp, "(progn (delete-directory \"/a\" t))", "run [rm][-rf][/a]"),
        (Language::Lisp, "(call-process \"rm\" nil nil nil \"-rf\" \"/a\")", "run [rm][-rf][/a]"),
        (Language::Other, "File.rm_rf!(\"/a\")", "run [rm][-rf][/a]"),
        (Language::Other, "\"rm /a\".execute()", "run rm /a"),
    ] {
        assert_eq!(does(language, code), [expected], "{code}");
    }
    // The code ends in the middle of an expression.
    assert_eq!(does(Language::Python, "os.remove('x'[::-"), ["run [rm][-f][x]"]);
    assert_eq!(does(Language::Python, "os.remove(x="), Vec::<String>::new());
    for (language, code) in [
        (Language::Python, "getattr(x, 'name')('y')"),
        (Language::Python, "x['run']('y'); list(map(str, ['a']))"),
        (Language::Ruby, "[1].each { |x| puts x }; o.send(:x, 1)"),
        (Language::Perl, "print for glob('/a/*')"),
        (Language::Lisp, "(message \"(system x)\") ; (system \"x\")"),
    ] {
        assert_eq!(does(language, code), Vec::<String>::new(), "{code}");
    }
    assert_eq!(m4("a syscmd(`rm x')b esyscmd(y"), ["rm x", "y"]);
}
