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
    .summary('import prices, and show what a change of prices costs')
    .description(
      'Prices for pull requests: import a PriceCatalog from a public list, or show what a change of prices ' +
        'would have cost for recent calls.',
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
        'Reads a price list from LIST (a file, or - for stdin) or from --url, and prints a PriceCatalog with ' +
          'the models that --models names or that the routes of --config have. Annotations name the source.',
        'Names match exactly, and prices are copied as decimals. Prices that cannot be imported are listed on ' +
          'stderr; so is the table of differences with --compare. Exits with 1 if a model is missing.',
      ),
    )
    .argument('[LIST]', 'file with the price list, or - for stdin')
    .addOption(
      new Option('--from <KIND>', 'format of the price list')
        .choices(['litellm', 'models.dev', 'openrouter', 'portkey', 'auto'])
        .default('auto'),
    )
    .addOption(new Option('--url <URL>', 'URL to fetch the price list from, in place of LIST'))
    .addOption(
      new Option(
        '--models <NAMES>',
        'comma-separated models to import: NAME, or NAME=KEY for a model with another key in the list',
      ).argParser((text) =>
        text
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== ''),
      ),
    )
    .addOption(flag('--config <DIR>', 'folder of manifests; the models of its routes are imported'))
    .addOption(new Option('--name <NAME>', 'metadata.name of the PriceCatalog').default('imported'))
    .addOption(
      new Option(
        '--compare <NAME>',
        'file with a second price list, or name of a PriceCatalog of --config, to compare with',
      ),
    )
    .addOption(new Option('--revision <TEXT>', 'version of the price list, for the annotation'))
    .addOption(new Option('--allow-free', 'accept a price of 0'))
    .action(async (file: string | undefined, flags: ImportFlags) => {
      const { runImport } = await import('../catalog/run-import.ts');
      ended(await runImport(file, flags));
    });
}

function diffCommand(ended: (exitCode: number) => void): Command {
  return new Command('diff')
    .summary('show what a change of prices would have cost for recent calls')
    .description(
      paragraphs(
        'Prices recent calls by the catalogs of OLD and of NEW (each a folder of manifests or a file). Prints ' +
          'the difference by model, group, account and key, the ten calls that change most, and the calls ' +
          'without a price.',
      ),
    )
    .argument('<OLD>', 'folder or file of manifests')
    .argument('<NEW>', 'folder or file of manifests')
    .addOption(new Option('--usage <FILE>', 'file with the output of mgw usage --format json, or - for stdin'))
    .addOption(flag('--ledger <URL>', 'ledger with the calls: file:PATH or valkey://HOST:PORT').argParser(parseLedger))
    .addOption(new Option('--days <DAYS>', 'number of days of calls').default(30).argParser(parseDays))
    .addOption(new Option('--format <FORMAT>', 'output format').choices(['table', 'json', 'markdown']).default('table'))
    .addOption(
      new Option('--at <TIME>', 'time whose prices apply, such as 2026-12-01 (default: now)').argParser(parseTime),
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
