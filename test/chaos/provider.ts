/** Controls the provider's process. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Attempt, Order, Report } from './provider-process.ts';

interface ProviderLog {
  readonly attempts: readonly Attempt[];
  readonly inFlight: number;
  /** Requests that no client can have caused. */
  readonly strange: readonly string[];
}

export interface ChaosProvider {
  readonly url: string;
  /** Starts a round: its fates are in force, and the log is empty. */
  startRound(seed: number, round: number): Promise<void>;
  log(): Promise<ProviderLog>;
  stop(): Promise<void>;
}

const ANSWER_MS = 30_000;

export async function startProvider(): Promise<ChaosProvider> {
  const child = fork(join(import.meta.dirname, 'provider-process.ts'), { serialization: 'advanced' });
  const exited = once(child, 'exit');
  const next = async <K extends Report['kind']>(kind: K): Promise<Extract<Report, { kind: K }>> => {
    const [report] = (await Promise.race([
      once(child, 'message', { signal: AbortSignal.timeout(ANSWER_MS) }),
      exited.then(() => {
        throw new Error('the mock provider has ended');
      }),
    ])) as [Report];
    if (report.kind !== kind) throw new Error(`the mock provider said ${report.kind}, not ${kind}`);
    return report as Extract<Report, { kind: K }>;
  };
  const ask = <K extends Report['kind']>(order: Order, kind: K): Promise<Extract<Report, { kind: K }>> => {
    const told = next(kind);
    child.send(order);
    return told;
  };
  const { url } = await next('ready');
  return {
    url,
    async startRound(seed, round) {
      await ask({ kind: 'round', seed, round }, 'cleared');
    },
    log: () => ask({ kind: 'log' }, 'log'),
    async stop() {
      child.send({ kind: 'stop' } satisfies Order);
      await exited;
    },
  };
}
