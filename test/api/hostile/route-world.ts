/** Support: one gateway over two scripted providers, and a client that disconnects from its stream. */
import assert from 'node:assert/strict';
import { KEYS } from '../../support/manifests.ts';
import { get, nothingLeaks } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';

/** Reads a stream until `text`, disconnects, and resolves with the request id. */
export async function leaveAfter(
  stack: TestStack,
  text: string,
  body: unknown,
  path = '/v1/chat/completions',
): Promise<string> {
  const leaving = new AbortController();
  const response = await fetch(stack.gateway.url + path, {
    method: 'POST',
    signal: leaving.signal,
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${KEYS.main}`, 'content-type': 'application/json' },
  });
  assert.ok(response.body);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let seen = ''; !seen.includes(text);) {
    const { value, done } = await reader.read();
    assert.ok(!done, `the stream ended with ${seen}`);
    seen += value;
  }
  leaving.abort();
  await reader.read().catch(() => undefined);
  return response.headers.get('x-request-id') ?? '';
}

/** Returns the usage record of a call, once no call holds money. */
export async function settledUsage(stack: TestStack, id: string): Promise<Json> {
  while (!nothingLeaks(stack))
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  return (await get(stack, `/v1/usage/${id}`)).json();
}

/** Returns the value of a metric; 0 without such a series. */
export async function metric(stack: TestStack, series: string): Promise<number> {
  const text = await (await fetch(`${stack.gateway.adminUrl}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}

export interface RouteOptions {
  /** The first model's fields, in YAML's flow style. */
  readonly model?: string;
  readonly channel?: string;
  /** Additional lines of the spec. */
  readonly spec?: string;
  readonly quota?: string;
}

/** A route with one model and one channel to an OpenAI provider, and the model's price: $2.50 in, $10 out. */
export function routeManifest(name: string, url: string, options: RouteOptions = {}): string {
  const { model = 'contextTokens: 100000, maxOutputTokens: 4000', channel = '', spec = '', quota } = options;
  const price = quota ?? 'quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"';
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: ${name}}
spec:
  models: [{name: ${name}-model, ${model}}]
  channels: [{name: only, protocol: OpenAI, baseUrl: "${url}/v1"${channel === '' ? '' : `, ${channel}`}}]
${spec}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: ${name}}
spec: {models: [{name: ${name}-model, vendor: Test, ${price}}]}
---
`;
}
