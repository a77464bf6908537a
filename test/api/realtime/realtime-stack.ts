/** A gateway with a realtime model before a provider that the test plays, and clients of OpenAI's SDK. */
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { createSelfSignedCertificate } from '../../unit/dataplane/upstream/self-signed.ts';
import { KEYS } from '../../support/manifests.ts';
import { SESSION, startRealtimeProvider } from '../../support/realtime-provider.ts';
import type { Event, ProvidedSession, RealtimeProvider } from '../../support/realtime-provider.ts';
import { get, nothingLeaks, startTestStack } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';

export interface RealtimeStack extends TestStack {
  readonly provider: RealtimeProvider;
  /** OpenAI's client connects over TLS only. */
  readonly tlsPort: number;
  readonly certificate: string;
}

export function realtimeManifests(url: string): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: realtime}
spec:
  clientDisconnect: Cancel
  models:
  - {name: talker, endpoints: [Realtime], inputs: [Text, Image], contextTokens: 32000, maxOutputTokens: 4096}
  - {name: deaf, endpoints: [Realtime], contextTokens: 32000, maxOutputTokens: 4096}
  - {name: flat, endpoints: [Realtime], contextTokens: 32000, maxOutputTokens: 4096}
  - {name: writer, endpoints: [Transcriptions], contextTokens: 16000, maxOutputTokens: 2000}
  - {name: minutes, endpoints: [Transcriptions]}
  channels:
  - {name: c, protocol: OpenAI, baseUrl: "${url}/v1", auth: {type: ApiKey, secretRef: {name: realtime-key, key: key}}, models: [{name: talker, upstreamName: up-realtime}]}
---
apiVersion: v1
kind: Secret
metadata: {name: realtime-key}
stringData: {key: provider-secret-000000001}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: realtime}
spec:
  models:
  - {name: talker, vendor: OpenAI, quotaType: Token, usdPerMillion: {input: "4", output: "16", cacheRead: "0.4", audioInput: "32", audioOutput: "64", imageInput: "5"}}
  - {name: deaf, vendor: OpenAI, quotaType: Token, usdPerMillion: {input: "4", output: "16"}}
  - {name: flat, vendor: OpenAI, quotaType: Request, requestUsd: "0.01"}
  - {name: writer, vendor: OpenAI, quotaType: Token, usdPerMillion: {input: "2.5", output: "10", audioInput: "6"}}
  - {name: minutes, vendor: OpenAI, quotaType: Request, perMinuteUsd: "0.006"}
`;
}

export async function startRealtimeStack(
  options: Omit<Parameters<typeof startTestStack>[0] & object, 'files'> & {
    /** `providerUrl`: of the stack's provider. */
    readonly files?: (providerUrl: string) => Readonly<Record<string, string>>;
  } = {},
): Promise<RealtimeStack> {
  const provider = await startRealtimeProvider();
  const { cert, key } = createSelfSignedCertificate();
  const { files, ...rest } = options;
  const stack = await startTestStack({
    ...rest,
    tls: { certificate: cert, key },
    files: () => ({ 'realtime.yaml': realtimeManifests(provider.url), ...files?.(provider.url) }),
  }).catch(async (error: unknown) => {
    await provider.stop();
    throw error;
  });
  return {
    ...stack,
    provider,
    tlsPort: stack.gateway.dataplane.tls?.port ?? 0,
    certificate: cert,
    async stop() {
      await stack.stop();
      await provider.stop();
    },
  };
}

export interface TalkOptions {
  readonly key?: string;
  readonly model?: string;
  /** Of a sidecar, which is called without TLS. */
  readonly sidecarPort?: number;
}

/** A client of OpenAI's SDK, whose events and end a test waits for. */
export class Talk {
  readonly sdk: OpenAIRealtimeWS;
  readonly events: Event[] = [];
  readonly #read = new Set<Event>();
  readonly #waiting: (() => void)[] = [];
  readonly #opened = Promise.withResolvers<void>();
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  requestId = '';

  constructor(
    { tlsPort, certificate }: Pick<RealtimeStack, 'tlsPort' | 'certificate'>,
    { key = KEYS.main, model = 'talker', sidecarPort }: TalkOptions = {},
  ) {
    const client = new OpenAI({ apiKey: key, baseURL: `https://localhost:${tlsPort}/v1` });
    const options =
      sidecarPort === undefined
        ? { ca: certificate }
        : { createConnection: () => connect({ port: sidecarPort, host: '127.0.0.1' }) };
    this.sdk = new OpenAIRealtimeWS({ model, options }, client);
    const closed = Promise.withResolvers<{ readonly code: number; readonly reason: string }>();
    this.closed = closed.promise;
    this.sdk.on('error', () => undefined);
    this.sdk.on('event', (event) => {
      this.events.push(event as unknown as Event);
      for (const wake of this.#waiting.splice(0)) wake();
    });
    this.sdk.socket.on('upgrade', (response) => {
      this.requestId = String(response.headers['x-request-id']);
    });
    this.sdk.socket.on('open', () => this.#opened.resolve());
    this.sdk.socket.on('close', (code, reason) => {
      closed.resolve({ code, reason: String(reason) });
      this.#opened.reject(new Error(`closed with ${code}`));
    });
  }

  opened(): Promise<void> {
    return this.#opened.promise;
  }

  send(event: object): void {
    this.sdk.send(event as Parameters<OpenAIRealtimeWS['send']>[0]);
  }

  /** Resolves with the next event of a type; each is returned once. */
  async next(type: string): Promise<Event> {
    for (;;) {
      const event = this.events.find((each) => each.type === type && !this.#read.has(each));
      if (event) {
        this.#read.add(event);
        return event;
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }
}

export interface Both {
  readonly talk: Talk;
  readonly provider: ProvidedSession;
}

/** Opens a session, and resolves once both ends have it, and the provider has the model's limit of output. */
export async function open(stack: RealtimeStack, options: TalkOptions = {}): Promise<Both> {
  const index = stack.provider.count;
  const talk = new Talk(stack, options);
  await talk.opened();
  const provider = await stack.provider.session(index);
  await talk.next('session.created');
  await provider.next('session.update');
  provider.send({ type: 'session.updated', event_id: 'e', session: { ...SESSION, max_output_tokens: 4096 } });
  return { talk, provider };
}

/** Turns off the provider's own turns, so that only the client begins responses. */
export async function manual({ talk, provider }: Both): Promise<void> {
  const audio = { input: { turn_detection: null } };
  talk.send({ type: 'session.update', session: { type: 'realtime', audio } });
  await provider.next('session.update');
  provider.send({ type: 'session.updated', event_id: 'e', session: { ...SESSION, audio } });
  await talk.next('session.updated');
}

/** The usage record of a session, once no call holds money. */
export async function recordOf(
  stack: RealtimeStack,
  { requestId }: Pick<Talk, 'requestId'>,
  key: string = KEYS.main,
): Promise<Json> {
  for (let tries = 0; !nothingLeaks(stack); tries++) {
    if (tries > 500) throw new Error('a hold or a slot was left behind');
    await setTimeout(10);
  }
  return (await get(stack, `/v1/usage/${requestId}`, { authorization: `Bearer ${key}` })).json();
}
