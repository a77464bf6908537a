/**
 * Opens gRPC connections to an operator. Each connection resolves the address and reads certificate authorities and
 * token again, so that new replicas, rotated certificates and renewed tokens need no restart.
 */
import { readFile } from 'node:fs/promises';
import { Client, credentials, Metadata } from '@grpc/grpc-js';

export interface GrpcChannelOptions {
  /** "host:port". If the host has several addresses (a headless Service), one of them is chosen. */
  readonly addresses: readonly string[];
  /** Undefined: plaintext without a token, for tests and for a single machine. */
  readonly secure: { readonly caFile: string; readonly tokenFile: string } | undefined;
  /** The interval of keep-alive pings on an idle connection. */
  readonly keepaliveMs?: number;
}

export interface GrpcChannel {
  readonly client: Client;
  readonly metadata: Metadata;
  readonly address: string;
  /** How long the server may take to begin to speak, which is how long it may be silent later. */
  readonly connectMs: number;
}

const KEEPALIVE_MS = 10_000;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const SHUFFLED = JSON.stringify({ loadBalancingConfig: [{ pick_first: { shuffleAddressList: true } }] });

/** Opens the channel for the `attempt`th connection. It connects with its first call. */
export async function openGrpcChannel(options: GrpcChannelOptions, attempt: number): Promise<GrpcChannel> {
  const { addresses, secure, keepaliveMs = KEEPALIVE_MS } = options;
  const address = addresses[attempt % addresses.length];
  if (address === undefined) throw new Error('no address to connect to');
  const metadata = new Metadata();
  if (secure) metadata.set('authorization', `Bearer ${(await readFile(secure.tokenFile, 'utf8')).trim()}`);
  const trust = secure ? credentials.createSsl(await readFile(secure.caFile)) : credentials.createInsecure();
  const keepaliveTimeoutMs = Math.min(10_000, keepaliveMs);
  const client = new Client(`dns:${address}`, trust, {
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.service_config': SHUFFLED,
    'grpc.service_config_disable_resolution': 1,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_channelz': 0,
    // shared connections remember failures for longer than this client's back-off
    'grpc.use_local_subchannel_pool': 1,
  });
  return { client, metadata, address, connectMs: keepaliveMs + keepaliveTimeoutMs };
}
