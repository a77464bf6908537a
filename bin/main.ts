/** The command line. commands/ defines commands and their flags; this file turns their results into exit codes. */
import { Command, CommanderError } from 'commander';
import { dataplaneCommand } from './commands/dataplane.ts';
import { catalogCommand } from './commands/catalog.ts';
import { demoProviderCommand } from './commands/demo-provider.ts';
import { doctorCommand } from './commands/doctor.ts';
import { operatorCommand } from './commands/operator.ts';
import { retireCommand } from './commands/retire.ts';
import { runCommand } from './commands/run.ts';
import { asSidecar, sidecarCommand } from './commands/sidecar.ts';
import { usageCommand } from './commands/usage.ts';
import { validateCommand } from './commands/validate.ts';
import { CommandFailed, EXIT } from './exit-codes.ts';
import { withoutUnset } from './options.ts';
import { VERSION } from './version.ts';

const DESCRIPTION =
  'Model Gateway: one address, one key and one bill for many model providers.\n\nExit codes: 0 success, 1 failure, ' +
  '64 invalid command line.';

/** Commands set the exit code here. */
let exitCode: number = EXIT.ok;

/** All commands, in the order of the help. `ended` is called with the exit code of a command that has run. */
export function createCommands(ended: (exitCode: number) => void): readonly Command[] {
  return [
    runCommand,
    validateCommand,
    doctorCommand,
    operatorCommand,
    dataplaneCommand,
    sidecarCommand,
    usageCommand,
    catalogCommand,
    retireCommand,
    demoProviderCommand,
  ].map((create) => create(ended));
}

function buildProgram(): Command {
  const program = new Command('mgw')
    .description(DESCRIPTION)
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError('Run "mgw --help" for usage.');
  const ended = (code: number): void => {
    exitCode = code;
  };
  for (const command of createCommands(ended)) program.addCommand(command.helpOption('-h, --help', 'print this help'));
  for (const command of [program, ...program.commands]) command.exitOverride();
  return program;
}

/** Runs the command line; resolves with the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  process.env = withoutUnset(process.env, ['MGW_HELLO', 'MGW_INSECURE_XDS', 'MGW_INSECURE_FLEET', 'MGW_SIDECAR']);
  try {
    await buildProgram().parseAsync(asSidecar(argv, process.env));
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof CommandFailed) {
      process.stderr.write(`${error.message}\n`);
      return error.exitCode;
    }
    throw error;
  }
}
