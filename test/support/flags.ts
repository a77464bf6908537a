/**
 * Flags of developer tools. A mistake is reported in one line, with the exit code of sysexits.h; `--help` prints the
 * help.
 */
import { parseArgs } from 'node:util';

const EXIT_USAGE = 64;

/** The values of these flags; absent if not given. Exits if they are wrong, or ask for help. */
export function readFlags<Name extends string>(
  help: string,
  names: readonly Name[],
): Readonly<Partial<Record<Name, string>>> {
  try {
    const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
    const {
      values: { help: wanted, ...values },
    } = parseArgs({ options: { ...options, help: { type: 'boolean' } } });
    if (!wanted) return values as Partial<Record<Name, string>>;
    console.log(help);
    return process.exit();
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), help);
  }
}

/** Parses a flag's value as a non-negative number; exits with the help text if it is not one. */
export function numberFlag(text: string, flag: string, help: string): number {
  const value = Number(text);
  return text.trim() !== '' && value >= 0 && Number.isFinite(value)
    ? value
    : refuse(`--${flag}: ${text} is not a number`, help);
}

function refuse(words: string, help: string): never {
  console.error(`${words}\n${help}`);
  process.exit(EXIT_USAGE);
}
