/**
 * SIGTERM and SIGINT: the first starts a graceful shutdown, a second one exits at once with 1. A terminal sends Ctrl-C
 * to npm and to the process, and npm forwards it, so signals within 500 ms count as one.
 */
import type { Logger } from 'pino';
import { EXIT } from '../exit-codes.ts';

const SAME_SIGNAL_MS = 500;

interface StopSignals {
  /** Resolves with the first signal. */
  readonly first: Promise<NodeJS.Signals>;
  /** Stops listening. */
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
    } else if (nowMs - firstAtMs > SAME_SIGNAL_MS) {
      process.stderr.write(
        `${signal} again: exiting at once; running calls are billed at their last recorded progress\n`,
      );
      process.exit(EXIT.failed);
    }
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  return {
    first: promise,
    ignore: () => {
      process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
    },
  };
}

/** Logs the end of a graceful shutdown and flushes the log; resolves with the exit code. */
export async function logEnded(signals: StopSignals, log: Logger): Promise<number> {
  signals.ignore();
  log.info('ended');
  await new Promise<void>((resolve) => {
    log.flush(() => resolve());
  });
  return EXIT.ok;
}
