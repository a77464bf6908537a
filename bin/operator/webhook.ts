/**
 * The webhook that puts sidecars into pods, with the certificates of both ends of it: those that the API server checks when it asks
 * about a pod, and those with which the fleet serves sidecars, whose authorities each injected pod is given.
 */
import type { Logger } from 'pino';
import type { ApiKey } from '#crds/types.gen.ts';
import { certificateStore } from '../../operator/kube/certificate-store.ts';
import type { KubeClient } from '../../operator/kube/client.ts';
import { SYSTEM_CLOCK } from '../../operator/kube/clock.ts';
import { hasStatus } from '../../operator/kube/errors.ts';
import { parseResource, pathOfKind } from '../../operator/kube/parse-object.ts';
import type { Meter } from '../../operator/metrics.ts';
import { keepConfiguration } from '../../operator/webhook/configuration.ts';
import { startWebhookServer } from '../../operator/webhook/server.ts';
import { parseSidecarSettings, SettingsFault } from '../../operator/webhook/settings.ts';
import type { SidecarSettings } from '../../operator/webhook/settings.ts';
import { keepCertificates, LASTING_LIFETIMES } from '../../operator/xds/certificates.ts';
import type { KeepCertificatesOptions, KeptCertificates, StoredCertificates } from '../../operator/xds/certificates.ts';
import { CommandFailed, EXIT } from '../exit.ts';
import type { Address } from '../options.ts';
import { isStored } from './secure-xds.ts';

/** The flags that concern it. */
export interface WebhookFlags {
  readonly webhookListen?: Address;
  readonly webhookName?: string;
  readonly webhookConfiguration?: string;
  /** JSON. */
  readonly sidecarSettings?: string;
}

interface WebhookOptions {
  readonly flags: WebhookFlags & { readonly webhookListen: Address };
  readonly client: KubeClient;
  readonly namespace: string;
  readonly leading: () => boolean;
  /** Runs something once, later; the result takes it back. */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly meter: Meter;
  readonly log: Logger;
}

export interface Webhook {
  readonly port: number;
  stop(): Promise<void>;
}

const WEBHOOK_SECRET = 'model-gateway-webhook-tls';
/** Proxies mount its servingCertificate and servingKey. */
const FLEET_SECRET = 'model-gateway-fleet-tls';
/** Less than the 5 seconds that the API server waits. */
const LOOKUP_MS = 3000;

/** Throws where the flags cannot be used; undefined: there is to be no webhook. */
export function readSettings({ webhookListen, sidecarSettings }: WebhookFlags, namespace: string): SidecarSettings | undefined {
  if (!webhookListen) return undefined;
  if (sidecarSettings === undefined) throw new CommandFailed('--webhook-listen needs --sidecar-settings: at least the image, {"image": "model-gateway:0.1.0"}.', EXIT.usage);
  try {
    return parseSidecarSettings(sidecarSettings, { fleet: `https://model-gateway-tls.${namespace}.svc` });
  } catch (error) {
    if (error instanceof SettingsFault) throw new CommandFailed(`--sidecar-settings: ${error.message}.`, EXIT.usage, error);
    throw error;
  }
}

/** Resolves once the API server can ask. */
export async function startWebhook({ flags, client, namespace, leading, after, meter, log }: WebhookOptions): Promise<Webhook> {
  const settings = readSettings(flags, namespace);
  if (!settings) throw new Error('there is no webhook to be started');
  await using started = new AsyncDisposableStack();
  const keep = async (secretName: string, options: Pick<KeepCertificatesOptions, 'serverNames' | 'of' | 'lifetimes'>): Promise<KeptCertificates> => {
    const store = certificateStore<StoredCertificates>({ client, namespace, secretName, configMapName: '' }, isStored);
    let known = false;
    // proxies' pods wait for the first ones, so whoever comes first makes them; to renew them is the leader's
    const kept = await keepCertificates({ ...options, store: { ...store, publishAuthorities: toldElsewhere }, mayWrite: () => !known || leading(), nowMs: () => SYSTEM_CLOCK.nowMs(), after, log });
    known = true;
    return started.adopt(kept, (each) => each.stop());
  };
  const [webhook, fleet] = await Promise.all([
    keep(WEBHOOK_SECRET, { of: 'webhook', serverNames: namesOf(flags.webhookName ?? `model-gateway-webhook.${namespace}.svc`) }),
    keep(FLEET_SECRET, { of: 'fleet', serverNames: namesOf(new URL(settings.fleet).hostname), lifetimes: LASTING_LIFETIMES }),
  ]);
  const server = started.adopt(await startWebhookServer({
    listen: flags.webhookListen, certificates: webhook, meter, log,
    context: () => ({ settings, gatewayNamespace: namespace, authorities: fleet.current().authorities, findApiKey: (where, name) => findApiKey(client, where, name) }),
  }), (each) => each.stop());
  const configuration = started.adopt(keepConfiguration({ client, name: flags.webhookConfiguration ?? `model-gateway-sidecar.${namespace}`, clock: SYSTEM_CLOCK, meter, log, leading }), (each) => each.stop());
  configuration.trust(webhook.current().authorities);
  started.defer(webhook.onChange(({ authorities }) => configuration.trust(authorities)));
  const running = started.move();
  return { port: server.port, stop: () => running.disposeAsync() };
}

/** Whom to trust: the API server by its configuration, pods when they are made. */
function toldElsewhere(): Promise<void> {
  return Promise.resolve();
}

/** As the API server has it now: an ApiKey and the pod that names it may be made in the same moment. */
async function findApiKey(client: KubeClient, namespace: string, name: string): Promise<ApiKey | undefined> {
  try {
    const resource = parseResource('ApiKey', await client.request({ method: 'GET', path: `${pathOfKind('ApiKey', namespace)}/${name}`, timeoutMs: LOOKUP_MS }));
    return resource.kind === 'ApiKey' ? resource : undefined;
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

function namesOf(serviceName: string): string[] {
  return serviceName.endsWith('.svc') ? [serviceName, `${serviceName}.cluster.local`] : [serviceName];
}
