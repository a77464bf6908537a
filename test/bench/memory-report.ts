/**
 * Loaded into a measured gateway (--import, with --expose-gc): on SIGUSR2 it collects garbage and writes what the
 * process holds to the file that MEMORY_REPORT names.
 */
import { renameSync, writeFileSync } from 'node:fs';

export interface MemoryReport {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly at: number;
}

const file = process.env['MEMORY_REPORT'] ?? '';

async function report(): Promise<void> {
  // finalizers of what the first round finds run between the rounds
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  const told: MemoryReport = { rss, heapUsed, external, at: Date.now() };
  writeFileSync(`${file}.new`, JSON.stringify(told));
  renameSync(`${file}.new`, file);
}

process.on('SIGUSR2', () => {
  void report();
});
