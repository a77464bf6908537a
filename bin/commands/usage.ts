/** `mgw usage`: prints usage records from a ledger's file or a shared ledger, also while gateways use it. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { flag, paragraphs, parseLedger } from '../options.ts';
import type { LedgerLocation } from '../../programs/ledger-location.ts';
import type { UsageFormat } from '../usage/format.ts';
import { isSummedBy, SUMMED_BY } from '../usage/sums.ts';

interface UsageFlags {
  readonly ledger?: LedgerLocation;
  readonly data?: string;
  readonly config?: string;
  readonly key?: string;
  readonly account?: string;
  readonly model?: string;
  readonly namespace?: string;
  readonly label?: string;
  readonly session?: string;
  readonly by?: string;
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly format: UsageFormat;
  readonly margins?: boolean;
}

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

export function usageCommand(ended: (exitCode: number) => void): Command {
  return new Command('usage')
    .summary('print or export usage records')
    .description(
      paragraphs(
        'Prints one line for each completed call: time, key, model, tokens and cost. Filters can be combined.',
        'The ledger is given as for mgw run: by --ledger, by the data folder --data, or by the folder of ' +
          'manifests --config. It may be in use; a ledger file may lack the calls of the last seconds.',
      ),
    )
    .addOption(flag('--ledger <URL>', 'ledger to read: file:PATH or valkey://HOST:PORT').argParser(parseLedger))
    .addOption(flag('--data <DIR>', 'data folder of mgw run, which contains the ledger'))
    .addOption(flag('--config <DIR>', 'folder of manifests of mgw run; its data folder is next to it'))
    .addOption(new Option('--key <KEY>', 'only calls of this key: namespace/name, or metadata.uid'))
    .addOption(new Option('--account <NAME>', 'only calls of this account: namespace/name'))
    .addOption(new Option('--namespace <NAME>', 'only calls of keys in this namespace'))
    .addOption(new Option('--label <NAME=VALUE>', 'only calls with this usage label'))
    .addOption(new Option('--model <NAME>', 'only calls of this model'))
    .addOption(new Option('--session <ID>', 'only calls of this Claude Code or Codex session'))
    .addOption(
      new Option(
        '--since <TIME>',
        'only calls since this time: 90m, 24h, 7d, or a date such as 2026-11-01 or 2026-11-01T12:00:00Z',
      ).argParser((text) => parseSince(text, Date.now())),
    )
    .addOption(
      new Option(
        '--by <NAME>',
        `print sums by ${SUMMED_BY.join(', ')} or label:NAME in place of single calls`,
      ).argParser(parseSummedBy),
    )
    .addOption(new Option('--format <FORMAT>', 'output format').choices(['table', 'json', 'csv']).default('table'))
    .addOption(
      new Option('--margins', "add the provider's cost of each call (from the cost of its channel) and the margin"),
    )
    .action(async (flags: UsageFlags) => {
      const { printUsage } = await import('../usage/usage.ts');
      ended(
        await printUsage({
          place: flags.ledger,
          data: flags.data,
          config: flags.config,
          format: flags.format,
          margins: flags.margins === true,
          by: flags.by,
          filter: {
            keyUid: flags.key,
            account: flags.account,
            namespace: flags.namespace,
            label: flags.label,
            model: flags.model,
            session: flags.session,
            sinceMs: flags.since,
          },
        }),
      );
    });
}

function parseSummedBy(text: string): string {
  if (isSummedBy(text)) return text;
  throw new InvalidArgumentError(`It must be ${SUMMED_BY.join(', ')} or label:NAME.`);
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/;

/** Parses a time back from now, or a date (UTC if it names no zone), to milliseconds since the epoch. */
export function parseSince(text: string, nowMs: number): number {
  const [, digits, unit = ''] = /^(\d{1,9})([smhdw])$/.exec(text) ?? [];
  if (digits !== undefined) return nowMs - Number(digits) * (UNIT_MS[unit] ?? 0);
  const moment = MOMENT.exec(text);
  // a date without a time is UTC already
  const ms = moment || DATE.test(text) ? Date.parse(moment && moment[1] === undefined ? `${text}Z` : text) : Number.NaN;
  if (Number.isNaN(ms))
    throw new InvalidArgumentError(
      'It must be a time back such as 90m, 24h or 7d, or a date such as 2026-11-01 or 2026-11-01T12:00:00Z.',
    );
  return ms;
}
