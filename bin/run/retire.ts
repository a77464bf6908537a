/** `mgw retire`: updates the statuses of the gateway's objects once. */
import { retireObjects } from '../../operator/upkeep/retire.ts';
import { NoKubeAccess, openAccess } from '#kube/access.ts';
import { createKubeClient } from '#kube/client.ts';
import { KubeError, KubeUnreachable, explainKubeError } from '#kube/errors.ts';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { CommandFailed, EXIT } from '../exit-codes.ts';
import { VERSION } from '../version.ts';

/** The flags of `mgw retire`, parsed. */
export interface RetireFlags {
  readonly namespace: string;
  readonly watchNamespaces?: readonly string[];
  readonly kubeconfig?: string;
}

/**
 * Resolves with a sentence about what was done. Rejects with CommandFailed if the API server refuses or cannot be
 * reached.
 */
export async function runRetire({ namespace, watchNamespaces, kubeconfig }: RetireFlags): Promise<string> {
  try {
    const access = openAccess({ ...(kubeconfig !== undefined && { kubeconfig }), nowMs: () => Date.now() });
    await using ending = new AsyncDisposableStack();
    const { meter } = createOperatorMetrics();
    const client = createKubeClient({ access, userAgent: `model-gateway-retire/${VERSION}`, meter });
    ending.defer(() => client.close());
    const count = await retireObjects({
      client,
      gatewayNamespace: namespace,
      nowMs: Date.now(),
      ...(watchNamespaces && { namespaces: [...new Set([namespace, ...watchNamespaces])] }),
    });
    return `marked ${count} objects of the gateway in ${namespace} as removed`;
  } catch (error) {
    if (error instanceof NoKubeAccess) throw new CommandFailed(error.message, EXIT.failed, error);
    if (error instanceof KubeUnreachable) throw new CommandFailed(explainKubeError(error), EXIT.failed, error);
    if (error instanceof KubeError) throw new CommandFailed(error.message, EXIT.failed, error);
    throw error;
  }
}
