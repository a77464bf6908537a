/** A gateway with models that speak and transcribe, at each kind of price, and requests to them. */
import { KEYS } from '../../support/manifests.ts';
import { get, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

function manifests(openaiUrl: string, anthropicUrl: string): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: audio}
spec:
  models:
  - {name: tts-1, endpoints: [Speech]}
  - {name: mini-tts, endpoints: [Speech], contextTokens: 2000, maxOutputTokens: 2000}
  - {name: whisper-1, endpoints: [Transcriptions]}
  - {name: flat-whisper, endpoints: [Transcriptions]}
  - {name: transcribe, endpoints: [Transcriptions], contextTokens: 16000, maxOutputTokens: 2000}
  - {name: unlimited, endpoints: [Speech, Transcriptions]}
  channels:
  - {name: c, protocol: OpenAI, baseUrl: "${openaiUrl}/v1", models: [{name: whisper-1, upstreamName: up}, {name: tts-1, upstreamName: speaker}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: fetching}
spec:
  models: [{name: fetching-whisper, endpoints: [Transcriptions]}]
  channels: [{name: c, protocol: OpenAI, baseUrl: "${openaiUrl}/v1"}]
  allow: {fields: [url]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: azure}
spec:
  models: [{name: azure-whisper, endpoints: [Transcriptions]}, {name: azure-tts, endpoints: [Speech]}]
  channels: [{name: c, protocol: OpenAI, platform: AzureDeployments, apiVersion: 2025-03-01-preview, baseUrl: "${openaiUrl}"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: elsewhere}
spec:
  models: [{name: claude-whisper, endpoints: [Transcriptions]}]
  channels: [{name: c, protocol: Anthropic, baseUrl: "${anthropicUrl}"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: audio}
spec:
  models:
  - {name: tts-1, vendor: OpenAI, quotaType: Request, perMillionCharactersUsd: "15"}
  - {name: azure-tts, vendor: OpenAI, quotaType: Request, perMillionCharactersUsd: "15"}
  - {name: mini-tts, vendor: OpenAI, quotaType: Token, usdPerMillion: {input: "0.6", output: "9", audioOutput: "12"}}
  - {name: whisper-1, vendor: OpenAI, quotaType: Request, perMinuteUsd: "0.006"}
  - {name: azure-whisper, vendor: OpenAI, quotaType: Request, perMinuteUsd: "0.006"}
  - {name: fetching-whisper, vendor: OpenAI, quotaType: Request, perMinuteUsd: "0.006"}
  - {name: claude-whisper, vendor: OpenAI, quotaType: Request, perMinuteUsd: "0.006"}
  - {name: flat-whisper, vendor: OpenAI, quotaType: Request, requestUsd: "0.000000007"}
  - {name: transcribe, vendor: OpenAI, quotaType: Token, usdPerMillion: {input: "2.5", output: "10", audioInput: "6"}}
  - {name: unlimited, vendor: OpenAI, quotaType: Token, usdPerMillion: {input: "1"}}
`;
}

export function startAudioStack(): Promise<TestStack> {
  return startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({ 'audio.yaml': manifests(openaiUrl, anthropicUrl) }),
  });
}

export type AudioFields = Readonly<Record<string, string | Uint8Array>>;

/** Sends a form as browsers and SDKs write it; bytes are files. */
export async function sendForm(stack: TestStack, path: string, fields: AudioFields): Promise<Answer> {
  const { headers, body } = await formOf(fields);
  return post(stack, path, body, headers);
}

export async function formOf(
  fields: AudioFields,
): Promise<{ readonly headers: Record<string, string>; readonly body: Uint8Array }> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, new Blob([new Uint8Array(value)], { type: 'audio/wav' }), 'speech.wav');
  const request = new Request('http://x', { method: 'POST', body: form });
  const headers = { 'content-type': request.headers.get('content-type') ?? '', authorization: `Bearer ${KEYS.main}` };
  return { headers, body: new Uint8Array(await request.arrayBuffer()) };
}

export async function usageOf(stack: TestStack, answer: { readonly headers: Headers }): Promise<Json> {
  return (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`)).json();
}
