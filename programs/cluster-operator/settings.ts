/**
 * The settings of an operator in a cluster: the flags of `mgw operator`, parsed; `mgw operator --help` describes them.
 */
import type { ConsoleOptions } from '../../console/server.ts';
import type { ListenAddress } from '../../dataplane/listen.ts';

/** Settings of the console. */
export interface ConsoleSettings {
  /** Absent: no console. */
  readonly console?: ListenAddress;
  readonly consoleProxyHeader?: NonNullable<ConsoleOptions['proxyHeader']>;
  /** Addresses and CIDR ranges of the proxies before the console. */
  readonly consoleTrustedProxies?: readonly string[];
  /** A folder with tls.crt and tls.key. */
  readonly consoleTls?: string;
  /** Where people open the console; a path counts. */
  readonly consoleUrl?: string;
  /** The URL that SDKs call, for snippets. */
  readonly consoleGatewayUrl?: string;
  /** The folder of the console's copy of usage records; undefined: a temporary file. */
  readonly consoleData?: string;
}

/** Settings of the configuration for Envoys in front of the fleet. */
export interface EdgeSettings {
  /** Absent: no such port. */
  readonly envoyXdsListen?: ListenAddress;
  readonly edgeService: string;
  readonly edgeListen: ListenAddress;
  readonly edgeTls?: string;
}

/** Settings of the webhook that injects sidecars into pods. */
export interface WebhookSettings {
  /** Absent: no webhook. */
  readonly webhookListen?: ListenAddress;
  readonly webhookName?: string;
  readonly webhookConfiguration?: string;
  /** As JSON. */
  readonly sidecarSettings?: string;
}

export interface ClusterSettings extends ConsoleSettings, EdgeSettings, WebhookSettings {
  /** Absent: all namespaces. */
  readonly watchNamespaces?: readonly string[];
  /** The labels that usage records carry; absent: none. */
  readonly usageLabels?: readonly string[];
  /** The most bytes that the objects of one namespace may take. Default: a tenth of the heap. */
  readonly namespaceMemory?: number;
  readonly xdsListen: ListenAddress;
  readonly xdsName?: string;
  readonly insecureXds?: boolean;
  /** The token with which a replica authenticates to the leader. */
  readonly tokenFile: string;
  readonly xdsProxies: readonly string[];
  readonly xdsOperators: readonly string[];
  /** The Service that selects all proxy pods. Absent: a proxy that is not connected is not noticed. */
  readonly proxiesService?: string;
  /** The HOST:PORT at which other replicas reach this one's xDS port. */
  readonly advertise?: string;
  readonly admin: ListenAddress;
  readonly leaseName: string;
  readonly identity?: string;
}
