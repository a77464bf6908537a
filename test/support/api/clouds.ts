/**
 * Fake clouds: a gateway with a channel to each, fakes of their token services, and binary event streams encoded by
 * AWS's own library. Each fake refuses what its cloud would refuse.
 */
import { generateKeyPairSync, verify } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventStreamCodec } from '@smithy/core/event-streams';
import { startMockProvider } from '../mock-provider.ts';
import type { MockProvider, RecordedRequest, Reply } from '../mock-provider.ts';
import { json } from '../provider-answers.ts';
import { startTestStack } from './test-stack.ts';
import type { TestStack } from './test-stack.ts';

export interface Clouds extends TestStack {
  /** The address of the channels of all clouds. */
  readonly cloud: MockProvider;
  /** The address of their token services. */
  readonly tokens: MockProvider;
}

export const FEDERATED_TOKEN = 'federated-token-of-the-pod';
export const CLIENT_SECRET = 'entra-client-secret-value';
export const AWS_SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
export const AZURE_KEY = 'azure-resource-key-value';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** The file of a Google service account whose tokens come from this address. */
export function serviceAccount(tokenUri: string): string {
  return JSON.stringify({
    type: 'service_account',
    client_email: 'gateway@project.iam.gserviceaccount.com',
    token_uri: tokenUri,
    private_key_id: 'key-1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  });
}

/** Returns the claims of a signed assertion; throws if its signature is invalid. */
export function readAssertion(assertion: string): Record<string, unknown> {
  const [head = '', claims = '', signature = ''] = assertion.split('.');
  if (!verify('RSA-SHA256', Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature, 'base64url')))
    throw new Error('the assertion is signed with another key');
  return JSON.parse(Buffer.from(claims, 'base64url').toString());
}

export function formOf(request: RecordedRequest | undefined): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(request?.body.toString()));
}

/** A response of OAuth's token endpoint. */
export function token(value: string, seconds = 3600): Reply {
  return json({ token_type: 'Bearer', access_token: value, expires_in: seconds });
}

const ROUTE = `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: NAME}
spec:
  models: [{name: NAME, contextTokens: 100000, maxOutputTokens: 4000, inputs: [Text, Image]}]
  channels:
  - name: only
    models: [{name: NAME, upstreamName: UPSTREAM}]
    CHANNEL
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: NAME}
spec: {models: [{name: NAME, vendor: Test, quotaType: Token, PRICE}]}
---`;

/** The prices of gpt-model and claude-model. */
const PRICES = {
  OpenAI: 'modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"',
  Anthropic: 'modelRatio: "1.5", completionRatio: "5", cacheRatio: "0.1", cacheWriteRatio: "1.25"',
  Gemini: 'modelRatio: "1", completionRatio: "8", cacheRatio: "0.25"',
  BedrockConverse: 'modelRatio: "1.5", completionRatio: "5", cacheRatio: "0.1", cacheWriteRatio: "1.25"',
} as const;

interface Channel {
  readonly upstream: string;
  readonly protocol: 'OpenAI' | 'Anthropic' | 'BedrockConverse' | 'Gemini';
  readonly lines: string;
}

/** A route, a model and a price with this name. */
export function cloudRoute(name: string, { upstream, protocol, lines }: Channel): string {
  return ROUTE.replaceAll('NAME', name)
    .replace('UPSTREAM', JSON.stringify(upstream))
    .replace('PRICE', PRICES[protocol])
    .replace('CHANNEL', `protocol: ${protocol}\n    ${lines}`);
}

export function secret(name: string, entries: Readonly<Record<string, string>>): string {
  return `
apiVersion: v1
kind: Secret
metadata: {name: ${name}}
stringData: ${JSON.stringify(entries)}
---`;
}

export interface CloudsOptions {
  readonly env?: (urls: { readonly tokensUrl: string; readonly tokenFile: string }) => Readonly<Record<string, string>>;
  readonly manifest: (urls: { readonly cloudUrl: string; readonly tokensUrl: string }) => string;
  readonly nowMs?: () => number;
}

export async function startClouds({ env, manifest, nowMs }: CloudsOptions): Promise<Clouds> {
  const [cloud, tokens, folder] = await Promise.all([
    startMockProvider(),
    startMockProvider(),
    mkdtemp(join(tmpdir(), 'mgw-clouds-')),
  ]);
  const tokenFile = join(folder, 'token');
  await writeFile(tokenFile, `${FEDERATED_TOKEN}\n`);
  const urls = { cloudUrl: cloud.url, tokensUrl: tokens.url };
  const stack = await startTestStack({
    files: () => ({ 'clouds.yaml': manifest(urls) }),
    ...(nowMs && { nowMs }),
    ...(env && { env: env({ tokensUrl: tokens.url, tokenFile }) }),
  });
  return {
    ...stack,
    cloud,
    tokens,
    async stop() {
      await Promise.all([cloud.stop(), tokens.stop(), stack.stop(), rm(folder, { recursive: true })]);
    },
  };
}

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString('utf8'),
  (text) => new Uint8Array(Buffer.from(text)),
);

function frame(headers: Readonly<Record<string, string>>, body: unknown): Buffer {
  const typed = Object.entries(headers).map(([name, value]) => [name, { type: 'string', value } as const]);
  return Buffer.from(
    codec.encode({
      headers: Object.fromEntries(typed),
      body: new Uint8Array(Buffer.from(JSON.stringify(body))),
    }),
  );
}

/** Encodes a model's event as InvokeModelWithResponseStream does. */
export function chunkFrame(event: unknown): Buffer {
  return frame(
    { ':message-type': 'event', ':event-type': 'chunk', ':content-type': 'application/json' },
    { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abcdefgh' },
  );
}

/** Encodes an event of ConverseStream. */
export function eventFrame(name: string, event: unknown): Buffer {
  return frame({ ':message-type': 'event', ':event-type': name, ':content-type': 'application/json' }, event);
}

export function exceptionFrame(name: string, message: string): Buffer {
  return frame(
    { ':message-type': 'exception', ':exception-type': name, ':content-type': 'application/json' },
    { message },
  );
}

/** An event stream in chunks of this size, or in one. */
export function eventStreamReply(frames: readonly Buffer[], pieceBytes = Number.MAX_SAFE_INTEGER): Reply {
  const bytes = Buffer.concat(frames);
  const steps: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) steps.push(bytes.subarray(at, at + pieceBytes));
  return { headers: { 'content-type': 'application/vnd.amazon.eventstream' }, steps };
}
