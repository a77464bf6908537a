/** Implements `mgw catalog diff`. */
import { catalogsOf, diffCatalogs } from '#usage/catalog-diff.ts';
import type { DiffedCall } from '#usage/catalog-diff.ts';
import { CommandFailed, EXIT } from '../exit-codes.ts';
import type { LedgerLocation } from '../../programs/ledger-location.ts';
import { readRecords } from '../usage/usage.ts';
import { formatDiff } from './diff-report.ts';
import type { DiffFormat } from './diff-report.ts';
import { loadManifests } from './load-catalogs.ts';
import { readPlace } from './read-place.ts';
import { readUsageJson } from './read-usage.ts';

interface DiffRun {
  readonly old: string;
  readonly next: string;
  readonly usage?: string;
  readonly ledger?: LedgerLocation;
  readonly days: number;
  /** The moment whose prices count; undefined: now. */
  readonly at?: number;
  readonly format: DiffFormat;
}

const DAY_MS = 86_400_000;

/** Resolves with the exit code. */
export async function runDiff(run: DiffRun): Promise<number> {
  const { at: pricesOfMs = Date.now() } = run;
  const [old, next] = await Promise.all([loadManifests(run.old, pricesOfMs), loadManifests(run.next, pricesOfMs)]);
  const calls = await callsOf(run, Date.now() - run.days * DAY_MS);
  const groupOfKey = new Map([...old.groupOfKey, ...next.groupOfKey]);
  let unknown = 0;
  const diff = await diffCatalogs(
    catalogsOf(old.snapshot, next.snapshot, groupOfKey),
    catalogsOf(next.snapshot, old.snapshot, groupOfKey),
    eachCall(calls, ({ keyUid }) => {
      if (!groupOfKey.has(keyUid)) unknown++;
    }),
  );
  process.stdout.write(formatDiff(diff, run.format, run.days));
  const hasAutomatic = [...old.snapshot.groups, ...next.snapshot.groups].some(
    ({ access }) => access?.$case === 'automatic',
  );
  if (hasAutomatic && unknown > 0)
    process.stderr.write(
      `The keys of ${unknown} calls are not in the manifests: the ratio of an automatic group counts as 1 for ` +
        'these calls.\n',
    );
  return EXIT.ok;
}

async function* eachCall(
  calls: Iterable<DiffedCall> | AsyncIterable<DiffedCall>,
  visit: (call: DiffedCall) => void,
): AsyncIterable<DiffedCall> {
  for await (const call of calls) {
    visit(call);
    yield call;
  }
}

async function callsOf(
  { usage, ledger }: DiffRun,
  sinceMs: number,
): Promise<Iterable<DiffedCall> | AsyncIterable<DiffedCall>> {
  if (usage !== undefined) {
    return readUsageJson(await readPlace(usage)).filter(({ createdMs }) => createdMs >= sinceMs);
  }
  if (ledger === undefined) throw new CommandFailed('No calls: pass --usage FILE or --ledger URL.', EXIT.usage);
  return readRecords({ place: ledger, data: undefined, config: undefined, filter: { sinceMs } });
}
