/** docs/reference/cli.md, from the commands and their flags. */
import type { Argument, Command, Option } from 'commander';
import { createCommands } from '../../bin/main.ts';

const HEAD = `# Command line

\`npx mgw COMMAND\` in a checkout, and \`mgw COMMAND\` in the image. \`mgw COMMAND --help\` prints the same texts. The
exit code is 0 for success, 1 for a failure and 64 for an invalid command line.

Each flag with a variable can also be set by that environment variable. The flag takes precedence, and an empty variable
counts as not set.
`;

/** The page: a section per command, with its arguments and flags. */
export function commandLineText(): string {
  const commands = createCommands(() => undefined);
  return [HEAD, ...commands.flatMap((command) => section(command, 'mgw'))].join('\n');
}

function section(command: Command, parent: string): readonly string[] {
  const name = `${parent} ${command.name()}`;
  const inner = command.commands.flatMap((each) => section(each, name));
  return [
    `## ${name}\n`,
    `${escaped(command.description())}\n`,
    ...command.registeredArguments.map(argumentLine),
    '',
    ...table(command.options),
    ...inner,
  ];
}

function argumentLine(argument: Argument): string {
  return `- \`${argument.name()}${argument.variadic ? '...' : ''}\`: ${escaped(argument.description)}`;
}

function table(options: readonly Option[]): readonly string[] {
  if (options.length === 0) return [];
  return ['| flag | variable | default | |', '|---|---|---|---|', ...options.map(flagRow), ''];
}

/** A default that is not a fixed value is described in the description, in parentheses. */
const DEFAULT = / \(default: (.*)\)(?=;|$)/;

function flagRow(option: Option): string {
  const { flags, envVar, mandatory, description, argChoices } = option;
  const variable = envVar === undefined ? '' : `\`${envVar}\``;
  const choices = argChoices ? `: ${argChoices.map((choice) => `\`${choice}\``).join(', ')}` : '';
  const said = DEFAULT.exec(description)?.[1];
  const fallback = mandatory ? 'required' : said === undefined ? defaultOf(option) : escaped(said);
  return `| \`${flags}\` | ${variable} | ${fallback} | ${escaped(description.replace(DEFAULT, ''))}${choices} |`;
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string {
  const value: unknown = defaultValueDescription ?? defaultValue;
  return typeof value === 'string' || typeof value === 'number' ? `\`${value}\`` : '';
}

/** Escapes the characters that Markdown reads as markup, and makes links of paths of pages. */
function escaped(text: string): string {
  return text.replaceAll(/[|<*_]/g, (mark) => `\\${mark}`).replaceAll(/\bdocs\/([\w/-]+\.md)/g, '[docs/$1](../$1)');
}
