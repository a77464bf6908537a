/**
 * Marks the statuses of tenants' objects when the gateway's namespace is deleted as a whole, in which case Helm runs no
 * Job. The operator still runs then: its pods end after the deletion has begun.
 */
import type { Logger } from 'pino';
import type { KubeClient } from '../kube/client.ts';
import { explainKubeError } from '../kube/errors.ts';
import { retireObjects } from './retire.ts';

interface RemovalOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly gatewayNamespace: string;
  readonly nowMs: () => number;
  /** True once this replica leads and the gateway's namespace is being deleted. */
  readonly isDue: () => boolean;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

export interface Removal {
  /** Call it when the answer of isDue may have changed. */
  check(): void;
  /** Resolves when the statuses that are being marked have been written. */
  ended(): Promise<void>;
}

/** Objects of the other kinds are deleted with the namespace. */
const KINDS_ELSEWHERE = ['Account', 'ApiKey'] as const;

export function watchForRemoval(options: RemovalOptions): Removal {
  let marking: Promise<void> | undefined;
  return {
    check() {
      if (options.isDue()) marking ??= mark(options);
    },
    ended: async () => marking,
  };
}

async function mark({ client, gatewayNamespace, nowMs, log }: RemovalOptions): Promise<void> {
  try {
    const marked = await retireObjects({ client, gatewayNamespace, kinds: KINDS_ELSEWHERE, nowMs: nowMs() });
    log.info({ statuses: marked }, 'the gateway\'s namespace is being deleted; statuses say that it is gone');
  } catch (error) {
    log.warn({ problem: explainKubeError(error) }, 'the gateway\'s namespace is being deleted, and not all statuses ' +
      'could be marked; mgw retire does it');
  }
}
