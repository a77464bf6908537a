/** A gateway in another process, and its memory. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface Memory {
  readonly rss: number;
  /** Heap and external memory after a collection. */
  readonly held: number;
  /** The most since the last look. */
  readonly peakRss: number;
  /** The processor time of all threads since the start. */
  readonly cpuMs: number;
  readonly holds: number;
}

export interface Measured {
  readonly url: string;
  readonly port: number;
  memory(): Promise<Memory>;
  stop(): Promise<void>;
}

export async function startMeasured(providerUrl: string, ...limits: readonly number[]): Promise<Measured> {
  const child = fork(join(import.meta.dirname, 'gateway-process.ts'), [providerUrl, ...limits.map(String)], {
    execArgv: ['--expose-gc'],
  });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return {
    url,
    port: Number(new URL(url).port),
    async memory() {
      const answered = once(child, 'message');
      child.send('memory');
      const [memory] = (await answered) as [Memory];
      return memory;
    },
    async stop() {
      const exited = once(child, 'exit');
      child.send('stop');
      const [code] = (await exited) as [number | null];
      if (code !== 0) throw new Error(`the gateway ended with ${code}`);
    },
  };
}
