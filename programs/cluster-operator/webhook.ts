/**
 * The webhook that injects sidecars into pods, with two sets of certificates: those that the API server checks when it
 * calls the webhook, and those with which the fleet serves sidecars. Each injected pod gets the certificate authorities
 * of the latter.
 */
import type { Logger } from 'pino';
import type { ApiKey } from '#crds/types.gen.ts';
import type { KubeClient } from '#kube/client.ts';
import { hasStatus } from '#kube/errors.ts';
import type { Ownership } from '#kube/owned-object.ts';
import { parseResource, pathOfKind } from '#kube/parse-object.ts';
import type { MetricsRecorder } from '../../operator/metrics.ts';
import { manageCaBundle } from '../../operator/webhook/ca-bundle.ts';
import { startWebhookServer } from '../../operator/webhook/server.ts';
import { parseSidecarSettings } from '../../operator/webhook/settings.ts';
import { manageCertificates, LONG_LIFETIMES } from '../../operator/security/certificates.ts';
import type { CertificateOptions, ManagedCertificates } from '../../operator/security/certificates.ts';
import { certificateStore } from '../../operator/security/certificate-store.ts';
import type { ListenAddress } from '../../dataplane/listen.ts';
import type { WebhookSettings } from './settings.ts';

interface WebhookOptions {
  readonly settings: WebhookSettings & { readonly webhookListen: ListenAddress };
  readonly client: KubeClient;
  readonly ownership: Ownership;
  readonly meter: MetricsRecorder;
  readonly log: Logger;
}

export interface Webhook {
  readonly port: number;
  /** Call it when this replica has become the leader. */
  look(): void;
  stop(): Promise<void>;
}

const WEBHOOK_SECRET = 'model-gateway-webhook-tls';
/** Proxies mount its servingCertificate and servingKey. */
const FLEET_SECRET = 'model-gateway-fleet-tls';
/** Less than the 5 seconds that the API server waits. */
const LOOKUP_MS = 3000;

type Certificate = Pick<CertificateOptions<object>, 'serverNames' | 'of' | 'lifetimes'>;

/** Resolves once the API server can call it. Rejects with a SettingsFault if the sidecars' settings cannot be used. */
export async function startWebhook(options: WebhookOptions): Promise<Webhook> {
  const { settings, client, ownership, meter, log } = options;
  const { namespace, leading, clock } = ownership;
  const fleetUrl = `https://model-gateway-tls.${namespace}.svc`;
  const sidecar = parseSidecarSettings(settings.sidecarSettings ?? '{}', { fleet: fleetUrl });
  await using started = new AsyncDisposableStack();
  const keep = async (secretName: string, certificate: Certificate): Promise<ManagedCertificates> => {
    let known = false;
    // any replica creates the first certificates, because proxies' pods wait for them; only the leader renews them
    const kept = await manageCertificates({
      ...certificate,
      store: certificateStore({ ...ownership, secretName }),
      mayWrite: () => !known || leading(),
      onRestored: ownership.onRestored,
      nowMs: () => clock.nowMs(),
      after: clock.after,
      log,
    });
    known = true;
    return started.adopt(kept, (each) => each.stop());
  };
  const [webhook, fleet] = await Promise.all([
    keep(WEBHOOK_SECRET, {
      of: 'webhook',
      serverNames: namesOf(settings.webhookName ?? `model-gateway-webhook.${namespace}.svc`),
    }),
    keep(FLEET_SECRET, {
      of: 'fleet',
      serverNames: namesOf(new URL(sidecar.fleet).hostname),
      lifetimes: LONG_LIFETIMES,
    }),
  ]);
  const server = started.adopt(
    await startWebhookServer({
      listen: settings.webhookListen,
      certificates: webhook,
      meter,
      log,
      context: () => ({
        settings: sidecar,
        gatewayNamespace: namespace,
        authorities: fleet.current().authorities,
        findApiKey: (where, name) => findApiKey(client, where, name),
      }),
    }),
    (each) => each.stop(),
  );
  const configuration = started.adopt(
    manageCaBundle({
      client,
      name: settings.webhookConfiguration ?? `model-gateway-sidecar.${namespace}`,
      clock,
      meter,
      log,
      leading,
      // Events about objects without a namespace would need a right in another namespace
      onRestored: () => ownership.onRestored({ kind: 'Secret', namespace, name: WEBHOOK_SECRET, uid: '' }),
    }),
    (each) => each.stop(),
  );
  configuration.trust(webhook.current().authorities);
  started.defer(webhook.onChange(({ authorities }) => configuration.trust(authorities)));
  const running = started.move();
  return {
    port: server.port,
    look() {
      for (const certificates of [webhook, fleet]) void certificates.refresh();
      configuration.look();
    },
    stop: () => running.disposeAsync(),
  };
}

/** Reads the ApiKey from the API server, because it and a pod that names it may be created in the same moment. */
async function findApiKey(client: KubeClient, namespace: string, name: string): Promise<ApiKey | undefined> {
  try {
    const path = `${pathOfKind('ApiKey', namespace)}/${name}`;
    const resource = parseResource('ApiKey', await client.request({ method: 'GET', path, timeoutMs: LOOKUP_MS }));
    return resource.kind === 'ApiKey' ? resource : undefined;
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

function namesOf(serviceName: string): string[] {
  return serviceName.endsWith('.svc') ? [serviceName, `${serviceName}.cluster.local`] : [serviceName];
}
