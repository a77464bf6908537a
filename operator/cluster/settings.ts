/**
 * The settings of an operator in a cluster: the flags of `mgw operator`, parsed; `mgw operator --help` describes them.
 */
import type { ConsoleOptions } from '../../console/server.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Of the console. */
export interface ConsoleSettings {
  /** Absent: there is none. */
  readonly console?: ListenAddress;
  readonly consoleProxyHeader?: NonNullable<ConsoleOptions['proxyHeader']>;
  /** A folder with tls.crt and tls.key. */
  readonly consoleTls?: string;
  /** Where SDKs call, for snippets. */
  readonly consoleGatewayUrl?: string;
  /** The folder of the console's copy of usage records; undefined: it is a temporary file. */
  readonly consoleData?: string;
}

/** Of the configuration for Envoys before the fleet. */
export interface EdgeSettings {
  /** Absent: there is none. */
  readonly envoyXdsListen?: ListenAddress;
  readonly edgeService: string;
  readonly edgeListen: ListenAddress;
  readonly edgeTls?: string;
}

/** Of the webhook that puts sidecars into pods. */
export interface WebhookSettings {
  /** Absent: there is none. */
  readonly webhookListen?: ListenAddress;
  readonly webhookName?: string;
  readonly webhookConfiguration?: string;
  /** JSON. */
  readonly sidecarSettings?: string;
}

export interface ClusterSettings extends ConsoleSettings, EdgeSettings, WebhookSettings {
  /** Absent: all namespaces. */
  readonly watchNamespaces?: readonly string[];
  readonly xdsListen: ListenAddress;
  readonly xdsName?: string;
  readonly insecureXds?: boolean;
  /** The token with which a replica shows itself to the leader. */
  readonly tokenFile: string;
  readonly xdsProxies: readonly string[];
  readonly xdsOperators: readonly string[];
  /** Where other replicas reach this one's xDS port, as HOST:PORT. */
  readonly advertise?: string;
  readonly admin: ListenAddress;
  readonly leaseName: string;
  readonly identity?: string;
}
