/**
 * SIGTERM and SIGINT: the first asks for an orderly end, a second one ends the process at once with 1. A terminal sends
 * Ctrl-C to npm and to the process, and npm hands it on: what follows the first within half a second is the same wish.
 */
import type { Logger } from 'pino';
import { EXIT } from '../exit.ts';

const SAME_WISH_MS = 500;

interface StopSignals {
  /** Resolves with the first one. */
  readonly first: Promise<NodeJS.Signals>;
  /** Listens no more. */
  ignore(): void;
}

export function listenStopSignals(): StopSignals {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let firstAtMs: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = performance.now();
    if (firstAtMs === undefined) {
      firstAtMs = nowMs;
      resolve(signal);
    } else if (nowMs - firstAtMs > SAME_WISH_MS) {
      process.stderr.write(`${signal} again: ending at once; what was running is billed at its last recorded ` +
        `progress\n`);
      process.exit(EXIT.failed);
    }
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  return {
    first: promise,
    ignore: () => { process.off('SIGTERM', onSignal).off('SIGINT', onSignal); },
  };
}

/** The last words of a process that has ended in order, and its exit code, once they are written. */
export async function sayEnded(signals: StopSignals, log: Logger): Promise<number> {
  signals.ignore();
  log.info('ended');
  await new Promise<void>((resolve) => { log.flush(() => resolve()); });
  return EXIT.ok;
}
