//! `hookhost import`: prints the rules that an agent has of its own as rules in words.

use crate::agent_places::project;
use crate::args::ImportArgs;
use crate::checked_rows::CheckedRows;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::inside_agent;
use crate::output::{
    self, one_line,
    style::{NAME, WARNING},
    truncate::counted,
};
use anyhow::anyhow;
use hookhost_agents::install::settings_file::SettingsFile;
use hookhost_imports::{Format, Import, Imported, Omission, Owner, Place, Proposal, SourceFile, to_toml};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Number of examples of each rule in `passes` that are not the agent's own.
const PASSES: usize = 2;

pub(crate) async fn run(args: &ImportArgs) -> Result<Exit, CliError> {
    if args.output.is_some() {
        inside_agent::refuse("writes a file with rules")?;
    }
    let format = Format::named(&args.format).ok_or_else(|| CliError::usage("there is no such format"))?;
    let places = Places::here()?;
    let files = places.files(format, args.file.as_deref())?;
    if files.is_empty() {
        let looked: Vec<String> = format.places.iter().map(|place| places.shown(place)).collect();
        output::note(&format!("{} has no rules here: none of {} exists\n", format.title, looked.join(", ")));
        return Ok(Exit::Done);
    }
    let import = format.read(&files).map_err(CliError::usage)?;
    let (rows, omissions) = checked(import).await?;
    let (text, _) = to_toml(rows.iter().map(|row| &row.proposal));
    match &args.output {
        Some(path) => write_new(path, &text)?,
        None => drop(output::print_exactly(&text)?),
    }
    output::note(&summary(format, &rows, &omissions, args.output.as_deref()));
    Ok(Exit::Done)
}

/// Returns the rows that load, and what has no row.
async fn checked(import: Import) -> Result<(Vec<Imported>, Vec<Omission>), CliError> {
    let Import { rows, mut omissions, .. } = import;
    let checked = CheckedRows::check(rows.iter().map(|row| row.proposal.clone()).collect()).await?;
    let refused = checked.refused.into_iter();
    omissions.extend(refused.map(|(number, why)| Omission { written: rows[number].written.clone(), why }));
    let mut rows: Vec<Option<Imported>> = rows.into_iter().map(Some).collect();
    let kept = checked.kept.into_iter().filter_map(|found| {
        let row = rows.get_mut(found.number)?.take()?;
        Some(with_own_examples(row, found.proposal, &found.passes))
    });
    let kept = kept.collect();
    omissions.sort_by(|a, b| (&a.written.path, a.written.line).cmp(&(&b.written.path, b.written.line)));
    Ok((kept, omissions))
}

/// Returns a row with the examples that hold. An example of the agent's own file that the row stops is a difference.
fn with_own_examples(before: Imported, mut proposal: Proposal, passes: &[usize]) -> Imported {
    let mut differences = before.differences;
    for (number, example) in before.proposal.row.passes.iter().enumerate().take(before.own_passes) {
        if !passes.contains(&number)
            && let hookhost::contract::rule::RuleExample::Text(text) = example
        {
            differences.push(format!("stricter: it also stops `{}`, which the original lets pass", one_line(text)));
            proposal.comments.extend(differences.last().cloned());
        }
    }
    let own = passes.iter().filter(|number| **number < before.own_passes).count();
    proposal.row.passes.truncate(own.max(PASSES));
    Imported { proposal, differences, ..before }
}

/// The directories in which agents keep their rules.
struct Places {
    home: PathBuf,
    cwd: PathBuf,
    project: PathBuf,
}

impl Places {
    fn here() -> Result<Self, CliError> {
        let home = configuration::places()?.home;
        let home = home.ok_or_else(|| CliError::usage("your home directory cannot be found: set the variable HOME"))?;
        let cwd = configuration::cwd()?;
        Ok(Self { home, project: project(&cwd), cwd })
    }

    fn directory(&self, place: &Place) -> PathBuf {
        let named = place.variable.and_then(std::env::var_os).filter(|named| !named.is_empty());
        match (place.owner, named) {
            (Owner::User, Some(named)) => PathBuf::from(named).join(place.below),
            (Owner::User, None) => self.home.join(place.directory),
            (Owner::Project, _) => self.project.join(place.directory),
        }
    }

    /// Returns the path of a place for a person.
    fn shown(&self, place: &Place) -> String {
        let path = self.directory(place).join(place.file);
        one_line(&match path.strip_prefix(&self.home) {
            Ok(below) if place.owner == Owner::User => format!("~/{}", below.display()),
            _ => self.relative(&path).display().to_string(),
        })
    }

    fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.cwd).unwrap_or(path)
    }

    /// Reads the named file, or all files of the agent.
    fn files(&self, format: &Format, named: Option<&Path>) -> Result<Vec<SourceFile>, CliError> {
        if let Some(path) = named {
            let is_users = |place: &&Place| path.parent().is_some_and(|parent| is_same(parent, &self.directory(place)));
            let users = format.places.iter().filter(|place| place.owner == Owner::User).any(|place| is_users(&place));
            let owner = if users { Owner::User } else { Owner::Project };
            let file = self.file(path, owner, None)?;
            return file
                .map(|file| vec![file])
                .ok_or_else(|| CliError::usage(format!("{} does not exist", path.display())));
        }
        let mut files = Vec::new();
        for place in format.places {
            let root = (place.owner == Owner::Project).then_some(self.project.as_path());
            for path in found(&self.directory(place), place) {
                files.extend(self.file(&path, place.owner, root)?);
            }
        }
        Ok(files)
    }

    fn file(&self, path: &Path, owner: Owner, root: Option<&Path>) -> Result<Option<SourceFile>, CliError> {
        let file = SettingsFile::read(path, root).map_err(CliError::usage)?;
        let text = file.text().map_err(CliError::usage)?;
        let path = self.relative(path).to_owned();
        Ok(file.content.is_some().then(|| SourceFile::new(path, owner, text)))
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Returns the files of a place, sorted by name.
fn found(directory: &Path, place: &Place) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| place.is_file(name)));
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Writes a file that does not exist yet.
fn write_new(path: &Path, text: &str) -> Result<(), CliError> {
    let file = std::fs::File::options().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| CliError::usage(anyhow!("{} cannot be written: {error}", one_line(&path.to_string_lossy()))))
}

/// Describes what has no row, what differs, and the next step.
fn summary(format: &Format, rows: &[Imported], omissions: &[Omission], written: Option<&Path>) -> String {
    let mut text = String::new();
    if !omissions.is_empty() {
        let _ = writeln!(text, "{WARNING}not imported:{WARNING:#}");
        for Omission { written, why } in omissions {
            let _ = writeln!(text, "  {}\n    {}", one_line(&written.to_string()), one_line(why));
        }
    }
    let different: Vec<&Imported> = rows.iter().filter(|row| !row.differences.is_empty()).collect();
    if !different.is_empty() {
        let _ = writeln!(text, "{NAME}imported with a difference:{NAME:#}");
        for row in &different {
            let _ = writeln!(text, "  {}", one_line(&row.written.to_string()));
            row.differences.iter().for_each(|difference| {
                let _ = writeln!(text, "    {}", one_line(difference));
            });
        }
    }
    let rules = counted(rows.len() as u64, "rule");
    let (different, omitted) = (different.len(), omissions.len());
    let _ =
        writeln!(text, "{rules} of {} imported, {different} with a difference; {omitted} not imported", format.title);
    if !rows.is_empty() {
        let from = written.map_or_else(|| "these rules".to_owned(), |path| format!("the rules of {}", path.display()));
        // A project's file can have no reminders.
        let reminds = rows.iter().any(|row| row.proposal.row.remind.is_some());
        let files = if reminds { "your hookhost.toml" } else { "your hookhost.toml, or into the project's" };
        output::next_step(&mut text, &format!("put {from} into {files}; they apply from the next call"));
    }
    text
}
