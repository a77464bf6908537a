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
    .summary('print or export the records of calls')
    .description(
      paragraphs(
        'Prints one line for each call that is over: when it was admitted, whose it was, its tokens and what it cost. ' +
          'Filters may be combined.',
        'The ledger is named as for mgw run: by --ledger, or as the file in the folder of --data or beside --config. ' +
          'It may be in use; what was settled in the last seconds may be missing of a file.',
      ),
    )
    .addOption(flag('--ledger <URL>', 'file:PATH or valkey://HOST:PORT').argParser(parseLedger))
    .addOption(flag('--data <DIR>', 'data folder of mgw run'))
    .addOption(flag('--config <DIR>', 'folder of manifests of mgw run, whose data folder is beside it'))
    .addOption(new Option('--key <KEY>', 'of this key: namespace/name, or metadata.uid'))
    .addOption(new Option('--account <NAME>', 'of this account: namespace/name'))
    .addOption(new Option('--namespace <NAME>', 'of the keys of this namespace'))
    .addOption(new Option('--label <NAME=VALUE>', 'with this usage label'))
    .addOption(new Option('--model <NAME>', 'of this model'))
    .addOption(new Option('--session <ID>', 'of this session of Claude Code or Codex'))
    .addOption(
      new Option(
        '--since <TIME>',
        'admitted since: 90m, 24h, 7d, or a date such as 2026-11-01 or 2026-11-01T12:00:00Z',
      ).argParser((text) => parseSince(text, Date.now())),
    )
    .addOption(
      new Option(
        '--by <NAME>',
        `one line with the sum for each ${SUMMED_BY.join(', ')} or label:NAME, instead of each call`,
      ).argParser(parseSummedBy),
    )
    .addOption(
      new Option('--format <FORMAT>', 'table, json (one list) or csv')
        .choices(['table', 'json', 'csv'])
        .default('table'),
    )
    .addOption(new Option('--margins', 'also what each call cost the platform (cost of its channel), and the margin'))
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
