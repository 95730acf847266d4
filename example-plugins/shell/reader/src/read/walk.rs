//! Walks lists, pipelines and compound commands in the order of execution.

use super::{MAX_LEVELS, MAX_ROUNDS, Reader, Unreadable, WORK_OF_COMMAND, WORK_OF_WORD};
use crate::ascii::Ascii as _;
use crate::word::Word;
use crate::{Command, arithmetic};
use brush_parser::ast;
use std::ops::Range;

impl Reader<'_> {
    pub(crate) fn list(&mut self, list: &ast::CompoundList) -> Result<(), Unreadable> {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            if matches!(separator, ast::SeparatorOperator::Async) {
                self.subshell(&mut |reader| reader.and_or(and_or))?;
            } else {
                self.and_or(and_or)?;
            }
        }
        Ok(())
    }

    fn and_or(&mut self, list: &ast::AndOrList) -> Result<(), Unreadable> {
        self.pipeline(&list.first)?;
        let (mut last, mut rest) = (&list.first, list.additional.as_slice());
        // If a command cannot fail, the command after `&&` always runs.
        while let [ast::AndOr::And(next), more @ ..] = rest
            && self.succeeds(last)
        {
            self.pipeline(next)?;
            (last, rest) = (next, more);
        }
        if rest.is_empty() {
            return Ok(());
        }
        let before = self.scope.clone();
        self.spend(before.work())?;
        for next in rest {
            match next {
                // The commands after this `&&` run only if this pipeline ran, so the pipeline's assignments apply to
                // them.
                ast::AndOr::And(pipeline) => self.pipeline(pipeline)?,
                ast::AndOr::Or(pipeline) => drop(self.perhaps(&mut |reader| reader.pipeline(pipeline))?),
            }
        }
        // In `false && X=y`, it is unknown which of the commands ran.
        self.unsettle(&before, true);
        Ok(())
    }

    pub(super) fn pipeline(&mut self, pipeline: &ast::Pipeline) -> Result<(), Unreadable> {
        let [first, rest @ ..] = pipeline.seq.as_slice() else { return Ok(()) };
        if rest.is_empty() {
            return self.command(first, None).map(drop);
        }
        let begin = self.script.commands.len();
        let mut stages: Vec<usize> = Vec::new();
        let mut output = None;
        for stage in &pipeline.seq {
            stages.push(self.script.commands.len());
            // If the output of this stage is unknown, the next stage has an unknown input.
            output = self.subshell(&mut |reader| reader.command(stage, output.take()))?;
            output = output.or_else(|| self.output_since(stages[stages.len() - 1])).or_else(|| Some(Word::unknown()));
            let upstream = self.names(begin..stages[stages.len() - 1]);
            self.spend(upstream.len() * (self.script.commands.len() - stages[stages.len() - 1]) * WORK_OF_WORD)?;
            for command in &mut self.script.commands[stages[stages.len() - 1]..] {
                command.upstream.extend(upstream.iter().cloned());
            }
            self.note_piped_downloads(begin, stages[stages.len() - 1])?;
        }
        self.piped_secrets(begin)?;
        stages.push(self.script.commands.len());
        for at in 0..stages.len() - 1 {
            let downstream = self.names(stages[at + 1]..stages[stages.len() - 1]);
            self.spend(downstream.len() * (stages[at + 1] - stages[at]) * WORK_OF_WORD)?;
            for command in &mut self.script.commands[stages[at]..stages[at + 1]] {
                command.downstream.extend(downstream.iter().cloned());
            }
        }
        Ok(())
    }

    pub(super) fn names(&self, range: Range<usize>) -> Vec<String> {
        self.script.commands[range].iter().map(|command| command.program.clone()).collect()
    }

    /// Returns the names of the programs recorded since `begin`.
    pub(crate) fn programs_since(&self, begin: usize) -> Vec<String> {
        self.names(begin..self.script.commands.len())
    }

    /// Reads a command with `input` and returns its output, if known.
    pub(super) fn command(&mut self, command: &ast::Command, input: Option<Word>) -> Result<Option<Word>, Unreadable> {
        self.spend(WORK_OF_COMMAND)?;
        match command {
            ast::Command::Simple(simple) => return self.simple(simple, input),
            ast::Command::Compound(compound, redirects) => self.redirected(compound, redirects.as_ref(), input)?,
            ast::Command::Function(function) => self.define(function)?,
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref())?;
                self.test(&test.expr)?;
            }
        }
        Ok(None)
    }

    /// Reads a compound command with its redirections. The compound command may also be the body of a function.
    pub(super) fn redirected(
        &mut self,
        compound: &ast::CompoundCommand,
        redirects: Option<&ast::RedirectList>,
        input: Option<Word>,
    ) -> Result<(), Unreadable> {
        let input = self.redirects(redirects)?.1.or(input);
        let begin = self.script.commands.len();
        self.compound(compound, input)?;
        if redirects.is_some()
            && let Some(Command { redirects, upstream, .. }) = self.script.commands[..begin].last().cloned()
        {
            // In `{ …; } < <(…)`, any of the commands may read the input.
            self.spend(upstream.len() * (self.script.commands.len() - begin) * WORK_OF_WORD)?;
            for command in &mut self.script.commands[begin..] {
                command.upstream.extend(upstream.iter().cloned());
            }
            self.printed_since(begin, redirects)?;
        }
        Ok(())
    }

    /// Reads a compound command. The commands within the compound command get `input` as their input.
    pub(super) fn compound(&mut self, compound: &ast::CompoundCommand, input: Option<Word>) -> Result<(), Unreadable> {
        if self.nesting.compounds >= MAX_LEVELS {
            return Err(Unreadable(format!("it has more than {MAX_LEVELS} levels of compound commands")));
        }
        self.nesting.compounds += 1;
        let before = input.map(|input| self.surroundings.input.replace(input));
        let result = self.parts(compound);
        if let Some(before) = before {
            self.surroundings.input = before;
        }
        self.nesting.compounds -= 1;
        result
    }

    pub(super) fn parts(&mut self, compound: &ast::CompoundCommand) -> Result<(), Unreadable> {
        match compound {
            ast::CompoundCommand::Arithmetic(arithmetic) => self.arithmetic(&arithmetic.expr.value),
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                for expression in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.within_word(&expression.value)?;
                    self.evaluates(&expression.value)?;
                }
                self.repeatedly(&mut |reader| reader.list(&clause.body.list))
            }
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(subshell) => self.subshell(&mut |reader| reader.list(&subshell.list)),
            ast::CompoundCommand::ForClause(clause) => self.for_clause(clause),
            ast::CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value, None)?;
                for case in &clause.cases {
                    case.patterns.iter().try_for_each(|pattern| self.word(&pattern.value, None).map(drop))?;
                    if let Some(list) = &case.cmd {
                        self.perhaps(&mut |reader| reader.list(list))?;
                    }
                }
                Ok(())
            }
            ast::CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition)?;
                self.perhaps(&mut |reader| reader.list(&clause.then))?;
                for branch in clause.elses.iter().flatten() {
                    self.perhaps(&mut |reader| {
                        branch.condition.iter().try_for_each(|condition| reader.list(condition))?;
                        reader.list(&branch.body)
                    })?;
                }
                Ok(())
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.repeatedly(&mut |reader| {
                    reader.list(&clause.0)?;
                    reader.list(&clause.1.list)
                })
            }
            ast::CompoundCommand::Coprocess(coprocess) => {
                self.subshell(&mut |reader| reader.command(&coprocess.body, None)).map(drop)
            }
        }
    }

    /// Reads the text between `((` and `))`. The text is read both as arithmetic and as a command, because `( (reboot) )` is a command, but
    /// the parser takes it for arithmetic.
    pub(crate) fn arithmetic(&mut self, text: &str) -> Result<(), Unreadable> {
        self.evaluates(text)?;
        let is_arithmetic = arithmetic::is_expression(text);
        let outer = self.nesting.arithmetic.replace(self.nesting.commands + 1);
        let result = self.subshell(&mut |reader| reader.nested(text));
        self.nesting.arithmetic = outer;
        // As a command, `1 << $(x)` would contain a here-document, so this text is also read as a word.
        if result.is_err() || text.contains("<<") {
            self.within_word(text)?;
        }
        if is_arithmetic { Ok(()) } else { result }
    }

    pub(super) fn for_clause(&mut self, clause: &ast::ForClauseCommand) -> Result<(), Unreadable> {
        let mut values = Vec::new();
        for value in clause.values.iter().flatten() {
            self.words(&value.value, None, &mut values)?;
            self.remember_written(&clause.variable_name, &value.value);
        }
        if clause.values.is_none() {
            self.remember_written(&clause.variable_name, "$@");
            values = self.all_positional().map_or_else(|| vec![Word::unknown()], |words| words.to_vec());
        }
        if values.len() > MAX_ROUNDS {
            values = vec![Word::unknown()];
        }
        for value in values {
            self.commands_in(&clause.variable_name, &value)?;
            self.repeatedly(&mut |reader| {
                reader.set(&clause.variable_name, Some(value.clone()));
                reader.list(&clause.body.list)
            })?;
        }
        Ok(())
    }

    fn test(&mut self, test: &ast::ExtendedTestExpr) -> Result<(), Unreadable> {
        match test {
            ast::ExtendedTestExpr::And(one, other) | ast::ExtendedTestExpr::Or(one, other) => {
                self.test(one)?;
                self.test(other)
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ast::ExtendedTestExpr::UnaryTest(_, word) => {
                self.evaluates_index(&word.value)?;
                self.tested(word)
            }
            ast::ExtendedTestExpr::BinaryTest(operator, one, other) => {
                if is_of_numbers(operator) {
                    self.evaluates(&one.value)?;
                    self.evaluates(&other.value)?;
                }
                self.tested(one)?;
                self.tested(other)
            }
        }
    }

    fn tested(&mut self, word: &ast::Word) -> Result<(), Unreadable> {
        let word = self.word(&word.value, None)?;
        self.indexed(&word);
        Ok(())
    }

    /// Reads the commands in the index of an array element. The shell runs these commands even if the element is quoted: `[[ -v 'a[$(x)]'
    /// ]]`.
    pub(crate) fn indexed(&mut self, word: &Word) {
        let begin = word.text.find('[').filter(|_| word.text.has_one_of(b"$`"));
        if let Some(begin) = begin {
            self.within_quoted(&word.text[begin..]);
        }
    }

    /// Returns true if a pipeline only sets variables or prints. Such a pipeline cannot fail while the output is open.
    fn succeeds(&self, pipeline: &ast::Pipeline) -> bool {
        let [ast::Command::Simple(simple)] = pipeline.seq.as_slice() else { return false };
        for item in
            simple.prefix.iter().flat_map(|prefix| &prefix.0).chain(simple.suffix.iter().flat_map(|suffix| &suffix.0))
        {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word)
                | ast::CommandPrefixOrSuffixItem::Word(word)
                    if !word.value.contains("$(") && !word.value.has(b'`') => {}
                _ => return false,
            }
        }
        let is_usual = |name: &str| !self.defines(name) && !self.definitions.aliases.contains_key(name);
        let program = simple.word_or_name.as_ref().map(|word| word.value.as_str());
        !pipeline.bang && program.is_none_or(|name| matches!(name, ":" | "true" | "echo") && is_usual(name))
    }
}

/// Returns true if a test compares numbers. Each operand is then an arithmetic expression: `[[ x -eq 0 ]]`.
fn is_of_numbers(operator: &ast::BinaryPredicate) -> bool {
    use ast::BinaryPredicate as Operator;
    matches!(
        operator,
        Operator::ArithmeticEqualTo
            | Operator::ArithmeticNotEqualTo
            | Operator::ArithmeticLessThan
            | Operator::ArithmeticLessThanOrEqualTo
            | Operator::ArithmeticGreaterThan
            | Operator::ArithmeticGreaterThanOrEqualTo
    )
}
