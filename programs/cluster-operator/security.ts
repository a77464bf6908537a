/**
 * TLS and tokens of the xDS port: certificates that the operator creates and stores in the cluster, and who may
 * connect.
 */
import { readFile } from 'node:fs/promises';
import type { Ownership } from '#kube/owned-object.ts';
import { createTokenReviewer } from '../../operator/xds/authenticate.ts';
import { manageCertificates } from '../../operator/security/certificates.ts';
import type { DistributionSecurity } from '../../operator/xds/distribution.ts';
import { certificateStore } from '../../operator/security/certificate-store.ts';

/** The audience of proxies' and replicas' tokens. */
const XDS_AUDIENCE = 'model-gateway-xds';
const SECRET = 'model-gateway-xds-tls';
const CONFIG_MAP = 'model-gateway-xds-ca';

interface SecureXdsOptions {
  readonly ownership: Ownership;
  readonly serverName: string;
  readonly tokenFile: string;
  /**
   * ServiceAccounts of the gateway's namespace that may get the configuration, and that may report the acknowledgements
   * of other replicas' proxies.
   */
  readonly serviceAccounts: { readonly proxies: readonly string[]; readonly operators: readonly string[] };
}

type XdsSecurity = Extract<DistributionSecurity, { insecure: false }> & {
  /** Call it when this replica has become the leader. */
  refresh(): Promise<void>;
  stop(): Promise<void>;
};

/** Resolves once there are certificates. */
export async function secureXds(options: SecureXdsOptions): Promise<XdsSecurity> {
  const { ownership, serverName, tokenFile, serviceAccounts } = options;
  const { client, clock, log } = ownership;
  const nowMs = (): number => clock.nowMs();
  const tls = await manageCertificates({
    store: certificateStore({ ...ownership, secretName: SECRET, configMapName: CONFIG_MAP }),
    serverNames: [serverName, `${serverName}.cluster.local`],
    mayWrite: ownership.leading,
    onRestored: ownership.onRestored,
    log,
    nowMs,
    after: clock.after,
  });
  const authenticate = createTokenReviewer({
    post: (path, body) => client.request({ method: 'POST', path, body }),
    audience: XDS_AUDIENCE,
    nowMs,
  });
  const token = async (): Promise<string> => (await readFile(tokenFile, 'utf8')).trim();
  return {
    insecure: false,
    authenticate,
    tls,
    serverName,
    serviceAccounts,
    token,
    refresh: () => tls.refresh(),
    stop: () => tls.stop(),
  };
}
