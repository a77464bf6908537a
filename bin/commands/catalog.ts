/** `mgw catalog`: imports price lists as pull requests, and shows what a change of prices would have cost. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { flag, paragraphs, parseLedger } from '../options.ts';
import type { LedgerLocation } from '../../programs/ledger-location.ts';
import type { DiffFormat } from '../catalog/diff-report.ts';

interface ImportFlags {
  readonly from: string;
  readonly url?: string;
  readonly models?: readonly string[];
  readonly config?: string;
  readonly name: string;
  readonly compare?: string;
  readonly revision?: string;
  readonly allowFree?: boolean;
}

interface DiffFlags {
  readonly usage?: string;
  readonly ledger?: LedgerLocation;
  readonly days: number;
  readonly at?: number;
  readonly format: DiffFormat;
}

export function catalogCommand(ended: (exitCode: number) => void): Command {
  const command = new Command('catalog')
    .summary('import prices, and tell a change of them in money')
    .description(
      'Prices for pull requests: a PriceCatalog from a public list, and what a change of prices would have ' +
        'meant for the calls of the last days.',
    );
  for (const make of [importCommand, diffCommand]) {
    command.addCommand(make(ended).helpOption('-h, --help', 'print this help').exitOverride());
  }
  return command.helpCommand(false);
}

function importCommand(ended: (exitCode: number) => void): Command {
  return new Command('import')
    .summary('write a PriceCatalog from a public price list')
    .description(
      paragraphs(
        'Reads a list from LIST (a file, or - for stdin; the network only with --url) and prints a PriceCatalog with the ' +
          'models that --models names or that the routes below --config have, and with its source as annotations.',
        'Names match exactly. Prices go over by their decimal text; what cannot be carried over is said on stderr by ' +
          'name, and --compare prints a table there of the figures that differ. Exits with 1 where a model is missing.',
      ),
    )
    .argument('[LIST]', "the list's file, or - for stdin")
    .addOption(
      new Option('--from <KIND>', 'litellm, models.dev, openrouter, portkey, or auto')
        .choices(['litellm', 'models.dev', 'openrouter', 'portkey', 'auto'])
        .default('auto'),
    )
    .addOption(new Option('--url <URL>', 'fetch the list from here instead'))
    .addOption(
      new Option('--models <NAMES>', 'NAME or NAME=KEY of the list, with commas between them').argParser((text) =>
        text
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== ''),
      ),
    )
    .addOption(flag('--config <DIR>', 'folder of manifests, whose routes say which models'))
    .addOption(new Option('--name <NAME>', 'metadata.name of the catalog').default('imported'))
    .addOption(new Option('--compare <NAME>', "a second list's file, of any kind, or a PriceCatalog of --config"))
    .addOption(new Option('--revision <TEXT>', "the list's version, for the annotation"))
    .addOption(new Option('--allow-free', 'a price of 0 is meant'))
    .action(async (file: string | undefined, flags: ImportFlags) => {
      const { runImport } = await import('../catalog/run-import.ts');
      ended(await runImport(file, flags));
    });
}

function diffCommand(ended: (exitCode: number) => void): Command {
  return new Command('diff')
    .summary("what a change of prices would have meant for the last days' calls")
    .description(
      paragraphs(
        'Prices the calls of the last days by the catalogs of OLD and of NEW (a folder of manifests or a file each): per ' +
          'model, group, account and key, the ten calls that change most, and what has no price any more.',
      ),
    )
    .argument('<OLD>', 'folder or file of manifests')
    .argument('<NEW>', 'folder or file of manifests')
    .addOption(new Option('--usage <FILE>', 'what mgw usage --format json printed, or - for stdin'))
    .addOption(flag('--ledger <URL>', 'file:PATH or valkey://HOST:PORT').argParser(parseLedger))
    .addOption(new Option('--days <DAYS>', 'how many days of calls').default(30).argParser(parseDays))
    .addOption(
      new Option('--format <FORMAT>', 'table, json or markdown')
        .choices(['table', 'json', 'markdown'])
        .default('table'),
    )
    .addOption(
      new Option('--at <TIME>', 'the moment whose prices count, such as 2026-12-01; absent, now').argParser(parseTime),
    )
    .action(async (old: string, next: string, flags: DiffFlags) => {
      const { runDiff } = await import('../catalog/run-diff.ts');
      ended(await runDiff({ old, next, ...flags }));
    });
}

function parseTime(text: string): number {
  const ms = /^\d{4}-\d\d-\d\d(?:T.*)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError('It must be a date such as 2026-12-01 or 2026-12-01T12:00:00Z.');
  return ms;
}

function parseDays(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number of days such as 30.');
}
