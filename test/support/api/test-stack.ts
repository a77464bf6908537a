/** The fixture of the HTTP tests: one gateway over two scripted providers, and short ways to call it. */
import assert from 'node:assert/strict';
import { startGateway } from '../gateway.ts';
import type { GatewayOptions, TestGateway } from '../gateway.ts';
import { KEYS, keysManifest, platformManifest } from '../manifests.ts';
import { startMockProvider } from '../mock-provider.ts';
import type { MockProvider } from '../mock-provider.ts';

export interface TestStack {
  readonly gateway: TestGateway;
  readonly openai: MockProvider;
  readonly anthropic: MockProvider;
  stop(): Promise<void>;
}

/** `files` are added to the default manifests, or replace them by name (keys.yaml, platform.yaml). */
export async function startTestStack(
  options: Omit<GatewayOptions, 'files'> & {
    readonly files?: (urls: { openaiUrl: string; anthropicUrl: string }) => Readonly<Record<string, string>>;
  } = {},
): Promise<TestStack> {
  const [openai, anthropic] = await Promise.all([startMockProvider(), startMockProvider()]);
  const urls = { openaiUrl: openai.url, anthropicUrl: anthropic.url };
  const { files, ...rest } = options;
  const gateway = await startGateway({
    files: { 'keys.yaml': keysManifest(), 'platform.yaml': platformManifest(urls), ...files?.(urls) },
    ...rest,
  }).catch(async (error: unknown) => {
    await Promise.all([openai.stop(), anthropic.stop()]);
    throw error;
  });
  return {
    gateway,
    openai,
    anthropic,
    async stop() {
      await Promise.all([openai.stop(), anthropic.stop()]);
      await gateway.stop();
    },
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  json(): Json;
}

// a test reads what the contract documents, and fails if it is absent
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

/** POST with a JSON body (or raw text or bytes) and the main key, unless told otherwise. */
export async function post(
  stack: TestStack,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const raw = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const response = await fetch(stack.gateway.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(hasKey(headers) ? {} : { authorization: `Bearer ${KEYS.main}` }),
      ...headers,
    },
    body: raw as string,
  });
  return answerOf(response);
}

/** GET with the main key, unless told otherwise. */
export async function get(stack: TestStack, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return answerOf(
    await fetch(stack.gateway.url + path, {
      headers: { ...(hasKey(headers) ? {} : { authorization: `Bearer ${KEYS.main}` }), ...headers },
    }),
  );
}

function hasKey(headers: Record<string, string>): boolean {
  return 'authorization' in headers || 'x-api-key' in headers || 'no-key' in headers;
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
}

export function chat(model = 'gpt-model', more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model, messages: [{ role: 'user', content: 'hello' }], ...more };
}

export function message(model = 'claude-model', more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model, max_tokens: 100, messages: [{ role: 'user', content: 'hello' }], ...more };
}

/** A key's spent and held money, in nano-USD. */
export async function spending(stack: TestStack, name = 'main'): Promise<{ spent: bigint; held: bigint }> {
  const key = await stack.gateway.ledger.readKey(`team/${name}`, 'Never');
  return { spent: key.spentNanoUsd, held: key.heldNanoUsd };
}

/** After a test: resets the providers, and asserts that no hold and no slot is left. */
export function tidyUp(stack: TestStack): void {
  stack.openai.clear();
  stack.anthropic.clear();
  assert.ok(nothingLeaks(stack), 'a hold or a slot was left behind');
}

/** True if no money is held and no slot is taken, as after every test whose calls have ended. */
export function nothingLeaks(stack: TestStack): boolean {
  const { holds, heldNanoUsd, slots } = stack.gateway.ledger.gauges();
  return holds === 0 && heldNanoUsd === 0n && Object.values(slots).every((count) => count === 0);
}
