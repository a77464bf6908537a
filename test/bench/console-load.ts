/** Shared by the console's two benches: writes calls into a ledger's file, and times pages. */
import { openFile } from '../../dataplane/ledger/embedded/schema.ts';
import { addRecords } from '../support/usage-rows.ts';

const MONTH_MS = 30 * 86_400_000;

/** So many calls of an account's keys over the last month, straight into the file. */
export function writeRecords(
  path: string,
  records: number,
  { account, uids }: { readonly account: string; readonly uids: readonly string[] },
): void {
  const nowMs = Date.now();
  const db = openFile(path);
  db.exec('BEGIN');
  for (let n = 0; n < records; n++) {
    const record = {
      callId: `req_${n.toString(16).padStart(32, '0')}`,
      keyUid: uids[n % uids.length] ?? '',
      account,
      createdMs: nowMs - Math.floor((records - n) * (MONTH_MS / records)),
      group: 'main',
      model: `model-${n % 12}`,
      channel: 'openai/direct',
      catalog: 'model-gateway/prices@1',
      costNanoUsd: BigInt((n % 977) * 10_000),
      tokens: {
        input: n % 4000,
        cached: n % 900,
        cacheWrite5m: 0,
        cacheWrite1h: 0,
        output: n % 700,
      },
      usageSource: 'Provider' as const,
      status: n % 50 === 0 ? ('Failed' as const) : ('Succeeded' as const),
      unbilledNanoUsd: 0n,
      durationMs: 900,
    };
    addRecords(db, [record], nowMs);
  }
  db.exec('COMMIT');
  db.close();
}

interface Timing {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** Times some work and the CPU that all threads of this process use for it. */
export async function timed(work: () => Promise<unknown>): Promise<Timing> {
  const [cpu, from] = [process.cpuUsage(), performance.now()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs: performance.now() - from, cpuMs: (user + system) / 1000 };
}

export async function several(times: number, work: () => Promise<unknown>): Promise<Timing[]> {
  const all: Timing[] = [];
  for (let n = 0; n < times; n++) all.push(await timed(work));
  return all;
}

/** Prints one line: the median and the maximum. */
export function printTimings(what: string, all: readonly Timing[], note = ''): void {
  const middle = (of: keyof Timing): number =>
    all.map((each) => each[of]).toSorted((a, b) => a - b)[all.length >> 1] ?? 0;
  console.log(
    `${what.padEnd(46)} ${middle('wallMs').toFixed(1).padStart(8)} ms ${middle('cpuMs').toFixed(1).padStart(8)} ms CPU   longest ${Math.max(...all.map(({ wallMs }) => wallMs)).toFixed(1)} ms  ${note}`,
  );
}
