/**
 * Marks the statuses of tenants' objects when the gateway's namespace is deleted as a whole, in which case Helm runs no
 * Job. The operator still runs then: its pods end after the deletion has begun.
 */
import type { Logger } from 'pino';
import { TENANT_KINDS } from '#crds/kinds.ts';
import type { TimerClock } from '#runtime/clock.ts';
import type { KubeClient } from '#kube/client.ts';
import { explainKubeError } from '#kube/errors.ts';
import { retireObjects } from './retire.ts';

interface RemovalOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly gatewayNamespace: string;
  readonly clock: TimerClock;
  /** True once this replica leads and the gateway's namespace is being deleted. */
  readonly isDue: () => boolean;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

export interface Removal {
  /** Call it when the answer of isDue may have changed. */
  check(): void;
  /** Ends the attempts; resolves when the running one has ended. */
  stop(): Promise<void>;
}

const RETRY_AFTER_MS = 10_000;

export function watchForRemoval(options: RemovalOptions): Removal {
  let stopped = false;
  let attempt: Promise<void> | undefined;
  let cancel = (): void => undefined;

  function check(): void {
    if (stopped || !options.isDue()) return;
    attempt ??= mark(options).then((isMarked) => {
      if (!isMarked && !stopped) cancel = options.clock.after(RETRY_AFTER_MS, retry);
    });
  }

  function retry(): void {
    attempt = undefined;
    check();
  }

  return {
    check,
    async stop() {
      stopped = true;
      cancel();
      await attempt;
    },
  };
}

/** Resolves with false if not all statuses could be marked. The platform's objects are deleted with the namespace. */
async function mark({ client, gatewayNamespace, clock, log }: RemovalOptions): Promise<boolean> {
  try {
    const marked = await retireObjects({ client, gatewayNamespace, kinds: TENANT_KINDS, nowMs: clock.nowMs() });
    log.info({ statuses: marked }, 'the namespace of the gateway is being deleted; statuses are marked');
    return true;
  } catch (error) {
    log.warn(
      { problem: explainKubeError(error) },
      'the namespace of the gateway is being deleted, and not all statuses could be marked; retrying in ten ' +
        'seconds (mgw retire marks them too)',
    );
    return false;
  }
}
