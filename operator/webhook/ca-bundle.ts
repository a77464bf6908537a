/**
 * Maintains the caBundle of the chart's MutatingWebhookConfiguration, by which the API server trusts the webhook. The
 * leader owns this one field by server-side apply and restores it when the object is recreated or changed.
 */
import type { Logger } from 'pino';
import { APPLY_PATCH } from '#kube/client.ts';
import type { KubeClient } from '#kube/client.ts';
import type { OperatorClock } from '#runtime/clock.ts';
import { explainKubeError } from '#kube/errors.ts';
import { startListWatch } from '#kube/list-watch.ts';
import type { KubeObject } from '#kube/models.ts';
import type { KubeMeter } from '#kube/meter.ts';

interface CaBundleOptions {
  readonly client: Pick<KubeClient, 'request' | 'watch'>;
  /** The name of the MutatingWebhookConfiguration. */
  readonly name: string;
  readonly clock: OperatorClock;
  readonly meter: KubeMeter;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Returns whether this replica may write. */
  readonly leading: () => boolean;
  /** Called when this replica has restored what somebody else had removed or changed. */
  readonly onRestored: () => void;
}

interface CaBundleManager {
  /** Trusts these certificate authorities (PEM) from now on. */
  trust(authorities: string): void;
  /** Checks the object now. Call it when this replica becomes the leader. */
  look(): void;
  stop(): Promise<void>;
}

interface Configuration extends KubeObject {
  readonly webhooks?: readonly { readonly name: string; readonly clientConfig?: { readonly caBundle?: string } }[];
}

const PATH = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const FIELD_MANAGER = 'model-gateway-webhook';
/** When a write is checked, which may have failed or crossed another change. */
const LOOK_MS = 5_000;

/** Starts at once, but writes nothing before `trust` is called. */
export function manageCaBundle({
  client,
  name,
  clock,
  meter,
  log,
  leading,
  onRestored,
}: CaBundleOptions): CaBundleManager {
  let wanted: string | undefined;
  /** The wanted bundle that was in force. */
  let seen: string | undefined;
  let live: Configuration | undefined;
  let writing: Promise<void> | undefined;
  let stopped = false;
  let cancel = (): void => undefined;

  async function write(configuration: Configuration, caBundle: string): Promise<void> {
    const webhooks = configuration.webhooks?.map((each) => ({ name: each.name, clientConfig: { caBundle } }));
    await client.request({
      method: 'PATCH',
      path: `${PATH}/${name}?fieldManager=${FIELD_MANAGER}&force=true`,
      contentType: APPLY_PATCH,
      body: {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        metadata: { name },
        webhooks,
      },
    });
    log.info({ name }, 'updated the CA bundle of the webhook');
    if (seen === caBundle) onRestored();
    seen = caBundle;
  }

  function look(): void {
    cancel();
    if (stopped) return;
    if (wanted === undefined || !live || writing) return;
    if (live.webhooks?.every(({ clientConfig }) => clientConfig?.caBundle === wanted) ?? true) {
      seen = wanted;
      return;
    }
    if (!leading()) return;
    writing = write(live, wanted)
      .catch((error: unknown) =>
        log.warn({ name }, `cannot update the CA bundle of the webhook: ${explainKubeError(error)}`),
      )
      .finally(() => {
        writing = undefined;
        if (!stopped) cancel = clock.after(LOOK_MS, look);
      });
  }

  const become = (configuration: Configuration | undefined): void => {
    live = configuration;
    look();
  };
  const watch = startListWatch({
    client,
    clock,
    meter,
    log,
    collection: {
      resource: 'mutatingwebhookconfigurations',
      path: PATH,
      fieldSelector: `metadata.name=${name}`,
    },
    onReplace: (all) => become(all[0]),
    onApplied: become,
    onDeleted: () => become(undefined),
  });
  return {
    trust(authorities) {
      wanted = Buffer.from(authorities).toString('base64');
      look();
    },
    look,
    async stop() {
      stopped = true;
      cancel();
      await watch.stop();
      await writing;
    },
  };
}
