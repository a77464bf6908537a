/**
 * TLS and tokens of the xDS port: certificates that the operator creates and stores in the cluster, and who may
 * connect.
 */
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { certificateStore } from '../kube/certificate-store.ts';
import type { KubeClient } from '../kube/client.ts';
import { SYSTEM_CLOCK } from '../clock.ts';
import { createTokenReviewer } from '../xds/authenticate.ts';
import { manageCertificates } from '../xds/certificates.ts';
import type { StoredCertificates } from '../xds/certificates.ts';
import type { DistributionSecurity } from '../xds/distribution.ts';

/** The audience of proxies' and replicas' tokens. */
const XDS_AUDIENCE = 'model-gateway-xds';
const SECRET = 'model-gateway-xds-tls';
const CONFIG_MAP = 'model-gateway-xds-ca';

interface SecureXdsOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly namespace: string;
  readonly serverName: string;
  readonly tokenFile: string;
  /**
   * ServiceAccounts of the gateway's namespace that may get the configuration, and that may report the acknowledgements
   * of other replicas' proxies.
   */
  readonly serviceAccounts: { readonly proxies: readonly string[]; readonly operators: readonly string[] };
  /** Returns whether this replica may renew certificates. */
  readonly leading: () => boolean;
  /** Calls a function once after a delay; the returned function cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
}

type XdsSecurity = Extract<DistributionSecurity, { insecure: false }> & { stop(): void };

/** Resolves once there are certificates. */
export async function secureXds(options: SecureXdsOptions): Promise<XdsSecurity> {
  const { client, log, namespace, serverName, tokenFile, serviceAccounts, leading, after } = options;
  const tls = await manageCertificates({
    store: certificateStore({ client, namespace, secretName: SECRET, configMapName: CONFIG_MAP }, isStored),
    serverNames: [serverName, `${serverName}.cluster.local`],
    mayWrite: leading,
    log,
    nowMs: () => SYSTEM_CLOCK.nowMs(),
    after,
  });
  const authenticate = createTokenReviewer({
    post: (path, body) => client.request({ method: 'POST', path, body }),
    audience: XDS_AUDIENCE,
    nowMs: () => SYSTEM_CLOCK.nowMs(),
  });
  const token = async (): Promise<string> => (await readFile(tokenFile, 'utf8')).trim();
  return { insecure: false, authenticate, tls, serverName, serviceAccounts, token, stop: () => tls.stop() };
}

type Entries = Readonly<Record<string, string | undefined>>;

/** True if the operator's stored certificates are complete. */
export function isStored(entries: Entries): entries is Entries & StoredCertificates {
  return ['caCertificate', 'caKey', 'servingCertificate', 'servingKey'].every((name) => entries[name] !== undefined);
}
