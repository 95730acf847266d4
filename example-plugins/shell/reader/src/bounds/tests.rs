use super::{check, check_document};

#[test]
fn what_closes_a_name_within_its_index_closes_nothing_for_the_parser() {
    assert!(check("echo ${x%%[*} ${y#[}").is_ok());
    assert!(check(&"${a[${a[}".repeat(8)).unwrap_err().contains("indices"));
}

#[test]
fn indices_that_are_open_in_a_document_within_a_word_are_counted() {
    let of = |body: &str| check(&format!("echo \"$(cat <<'EOF'\n{body}\nEOF\n)\""));
    assert!(of("{a[${a[${a[}${a[${a[}$$").unwrap_err().contains("indices"));
    assert!(of("${a[").is_ok() && of("${a[0]} ${b[@]} ${c[${d[1]}]} ${e%%[*} ${f#[} ${g/[/x}").is_ok());
}

#[test]
fn ordinary_scripts_are_within_bounds() {
    let script = "#!/bin/sh\n# it's (a) {comment\n[ -f x ] && echo \"$(cat x | wc -l)\" '(' \\(\n".repeat(50);
    assert_eq!(check(&script), Ok(()));
    let lines = "print((((((1))))))  # if if if '\n".repeat(1500);
    assert_eq!(check(&format!("cat > x.py <<'EOF'\n{lines}EOF\necho done")), Ok(()));
}

#[test]
fn what_the_parser_would_read_otherwise_than_the_shell_says_so() {
    for text in [
        "cat <<E $(rm -rf /)\nx\nE",
        "cat <<E ${x:-$(rm -rf /)}\nx\nE",
        "cat <<E > ${x}\nx\nE",
        "cat <<E \"$(rm -rf /)\"\nx\nE",
        "cat $'\\'' <<E $(rm -rf /) ''\nx\nE",
        "echo $(cat <<E)\nx\nE\nrm -rf /",
        "echo $((cat <<E) a\nE\n)",
        "echo $(( $((1)) << b ))\nrm -rf /\nb\n",
        "echo $(( $((1)) << b\n)); rm -rf /\nb\n",
        "(( $((1)) << 2 ))\nrm -rf /\n2\n",
        "echo $[ $[1] <<2 ]\nrm -rf /\n2\n",
        "echo ${x:$((1))<<2}\nrm -rf /\n2\n",
        "echo $(( ((1)) )); ((a); cat <<E\n'\nE\nrm -rf /\n); echo '",
        "x=$( ((1)) ); cat <<E\n'\nE\nrm -rf /\necho '",
        "echo $(( $(cat <<E\n'\nE\nrm -rf /\n) + 1 )) '",
        "echo $(cat <<  E\nE\nrm -rf /\n\n)",
        "cat <<'' ",
        "cat <<$(E) $((",
        "cat <<\"a\nb\"\na\n",
        "echo `cat <<E`\nrm -rf /\nE",
        "$(($(())#<< )",
        "!(rm -rf /)",
        "if !(rm -rf /); then :; fi",
        "[[ a == @(\")\"|b) ]]; rm -rf /; echo \"x\"",
        "echo $( # )'\nrm -rf /\n) #'",
        "echo $(a  # )'\nrm -rf /\n) #'",
        "echo ${x:-$( # )'\nrm -rf /\n) '}\\'}",
        "echo ${x:+$(( 1 # ))}\nrm -rf /\n: ))}",
        "cat <<E <(echo & )# || rm -rf / #\nE",
        "cat <<E <(:\n)<(rm -rf /)\nE\n",
        "echo <(:)\\\n#; rm -rf /",
        "echo $(x)\\\n#; cat <<E $(rm -rf /)\nx\nE",
        "echo `: # '`; cat <<E $(rm -rf /) #'`\nx\nE",
        "echo `<<E #\n`; cat <<E $(rm -rf /)\nE\n",
        "cat <<E `x\n`$(rm -rf /)\nE\n",
        "echo $(x)#; cat <<E $(rm -rf /)\nx\nE",
        "a=(b)#; rm -rf /",
        "a=(b)\\\n#; rm -rf /",
        "cat <<E\nx\\\nE\ncat <<'F'\nE\nrm -rf /\nF",
        "echo `:`#; cat <<E $(rm -rf /)\nx\nE",
        "echo \\ #; cat <<E $(rm -rf /)\nx\nE",
        "echo \\;#; cat <<E $(rm -rf /)\nx\nE",
        "(( 1 $'))\nrm -rf /; #'))",
        "(( 1 !('))\nrm -rf /; #'))",
        "$(}  #<<''))$(",
    ] {
        assert!(check(text).is_err(), "{text}");
    }
    for text in [
        "git commit -m \"$(cat <<'EOF'\nIt's $(done) ((\nEOF\n)\" && echo $(date)",
        "cat > \"${file}\" <<EOF\n$(x) ((\nEOF\necho $(( 1 << 2 )) $((x<<1))",
        "for ((i = 0; i < 3; i++)); do cat <<E\n$i\nE\ndone",
        "(( x = 1 << 2 )) && cat <<E\nx\nE",
        "(cat <<E)\nx\nE",
        "cat <<E $x `date` <(date)\nx\nE",
        "cat <<E | sort\nx\nE\necho $(date)",
        "x=$(echo $(cat <<E | sort\nx\nE\n))",
        "case $x in +([0-9])) [[ $x == @(a|b) ]] && ! (false);; esac; find . \\! \\( -name x \\)",
        "echo $((2*(3+4))) $(( !(x) )); (( !(x) )) && echo 'hey!(x)' \"a!(b)\"",
        "cat <<-  \\EOF <<\"A B\" <<'C'\nEOF\nA B\nC\necho $(date)",
        "echo $(\n  # it's (as they say) of two blanks\n\n# and of none\n    date)",
        "echo $(date # now\n) $(date) # it's",
        "echo ${#x} ${x#'a'} a#b `date # now`",
        "(( x = 1 )) # it's\necho $(( $(date +'%s') - 1 ))",
    ] {
        assert_eq!(check(text), Ok(()), "{text}");
    }
}

#[test]
fn a_document_in_which_the_parser_would_end_a_substitution_elsewhere_says_so() {
    for body in [
        "$( : # )\nrm -rf /\n)",
        "`$( : # ')\nrm -rf /\n)`",
        "$(cat <<'E'\n(\nE\nrm -rf /)",
        "${x:-$( : # )\nrm -rf /\n)}",
    ] {
        assert!(check_document(body).is_err(), "{body}");
    }
    for body in
        ["# It's $(date), \"now\"\n## (`date`) # 1", "$(date # now\n)", "\\$(# ) '", "${x:-a} ${#x} $((1 << 2))"]
    {
        assert_eq!(check_document(body), Ok(()), "{body}");
    }
}

#[test]
fn what_is_too_much_says_so() {
    for bomb in ["$(", "(", "{ ", "`$(", "\"$(", "${a:-", "f() { "] {
        assert!(check(&bomb.repeat(1000)).unwrap_err().contains("levels"), "{bomb}");
    }
    assert_eq!(check("echo ${a[${b[1]}]} ${x%[} ${y#[[:alpha:]]}"), Ok(()));
    assert_eq!(check(&format!("f() {{ {} }}", "[[ -f x ]] || [ -d y ]; ".repeat(30))), Ok(()));
    assert!(check("${a[${a[${a[1]}]}]}").unwrap_err().contains("indices"));
    assert!(check("a[0]=${a[a[0]=${a[a[0]=${a[1]}]}]}").unwrap_err().contains("indices"));
    assert!(check(&"${a[${a[1]}]}".repeat(20)).unwrap_err().contains("indices"));
    for bomb in ["if ", "while ", "a; ", "a | ", "case x in ", "! ", "<<E "] {
        assert!(check(&bomb.repeat(20_000)).is_err(), "{bomb}");
    }
    assert!(check(&format!("echo {}", "a".repeat(40_000))).unwrap_err().contains("beside"));
    assert!(check(&"a".repeat(70_000)).unwrap_err().contains("bytes"));
}
