/**
 * Keeps the caBundle of the chart's MutatingWebhookConfiguration, by which the API server trusts the webhook. The
 * leader owns this one field by server-side apply and restores it when the object is recreated or changed.
 */
import type { Logger } from 'pino';
import { APPLY_PATCH } from '../kube/client.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../clock.ts';
import { explainKubeError } from '../kube/errors.ts';
import { startListWatch } from '../kube/list-watch.ts';
import type { KubeObject } from '../kube/models.ts';
import type { Meter } from '../metrics.ts';

interface CaBundleOptions {
  readonly client: Pick<KubeClient, 'request' | 'watch'>;
  /** Of the MutatingWebhookConfiguration. */
  readonly name: string;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Whether this replica writes. */
  readonly leading: () => boolean;
}

interface CaBundleManager {
  /** Trusts these authorities from now on, PEM. */
  trust(authorities: string): void;
  stop(): Promise<void>;
}

interface Configuration extends KubeObject {
  readonly webhooks?: readonly { readonly name: string; readonly clientConfig?: { readonly caBundle?: string } }[];
}

const PATH = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const FIELD_MANAGER = 'model-gateway-webhook';
/** A new leader, and a write that failed. */
const LOOK_MS = 5_000;

/** Starts at once; writes nothing before it knows whom to trust. */
export function manageCaBundle({
  client, name, clock, meter, log, leading,
}: CaBundleOptions): CaBundleManager {
  let wanted: string | undefined;
  let live: Configuration | undefined;
  let writing: Promise<void> | undefined;
  let stopped = false;
  let cancel = (): void => undefined;

  async function write(configuration: Configuration, caBundle: string): Promise<void> {
    const webhooks = configuration.webhooks?.map((each) => ({ name: each.name, clientConfig: { caBundle } }));
    await client.request({
      method: 'PATCH', path: `${PATH}/${name}?fieldManager=${FIELD_MANAGER}&force=true`, contentType: APPLY_PATCH,
      body: { apiVersion:
        'admissionregistration.k8s.io/v1', kind: 'MutatingWebhookConfiguration', metadata: { name }, webhooks },
    });
    log.info({ name }, 'the API server is told whom to trust for the webhook');
  }

  function look(): void {
    cancel();
    if (stopped) return;
    cancel = clock.after(LOOK_MS, look);
    if (wanted === undefined || !live || writing || !leading()) return;
    if (live.webhooks?.every(({ clientConfig }) => clientConfig?.caBundle === wanted) ?? true) return;
    writing = write(live, wanted)
      .catch((error: unknown) =>
        log.warn({ name }, `the API server cannot be told whom to trust for the webhook: ${explainKubeError(error)}`))
      .finally(() => { writing = undefined; });
  }

  const become = (configuration: Configuration | undefined): void => {
    live = configuration;
    look();
  };
  const watch = startListWatch({
    client, clock, meter, log, collection: {
      resource: 'mutatingwebhookconfigurations', path: PATH, fieldSelector: `metadata.name=${name}`,
    },
    onReplace: (all) => become(all[0]), onApplied: become, onDeleted: () => become(undefined),
  });
  return {
    trust(authorities) {
      wanted = Buffer.from(authorities).toString('base64');
      look();
    },
    async stop() {
      stopped = true;
      cancel();
      await watch.stop();
      await writing;
    },
  };
}
