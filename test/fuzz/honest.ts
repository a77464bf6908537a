/** The answers of a correct provider, as bytes, which mutations start from. */
import { gzipSync } from 'node:zlib';
import {
  anthropicMessage,
  anthropicStream,
  cohereRanking,
  json,
  openaiChat,
  openaiCompletion,
  openaiCompletionStream,
  openaiEmbeddings,
  openaiImages,
  openaiModerations,
  openaiStream,
  sseReply,
} from '../support/provider-answers.ts';
import type { AnthropicUsage, OpenaiUsage } from '../support/provider-answers.ts';
import { openaiResponse, openaiResponseStream } from '../support/response-answers.ts';
import type { ResponseUsage } from '../support/response-answers.ts';
import { parseJson } from '../../dataplane/protocol/parse-json.ts';
import type { Reply, Step } from '../support/mock-provider.ts';
import type { ProviderAnswer, ProviderRequest } from './provider.ts';

export interface Figures {
  readonly input: number;
  readonly output: number;
  /** How many images there are; default: as many as are asked for. */
  readonly images?: number;
  /** The length of a video, and the size of images, that the answer names; default: none. */
  readonly seconds?: unknown;
  readonly size?: unknown;
  /** The sealed values of a response; default: none. */
  readonly sealed?: number;
}

/** The request's body; an empty object where it is none. */
export function jsonOf({ body }: ProviderRequest): Record<string, unknown> {
  try {
    return parseJson(body.toString('utf8')) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** No id comes twice. */
let videos = 0;

export function honestReply(request: ProviderRequest, figures: Figures = { input: 10, output: 2 }): Reply {
  const asked = jsonOf(request);
  const stream = asked['stream'] === true;
  const openai: OpenaiUsage = { prompt_tokens: figures.input, completion_tokens: figures.output };
  const anthropic: AnthropicUsage = { input_tokens: figures.input, output_tokens: figures.output };
  const path = request.path.split('?', 1)[0] ?? '';
  if (path.endsWith('/chat/completions'))
    return stream ? openaiStream(undefined, { usage: openai, usageUnasked: true }) : openaiChat({ usage: openai });
  if (path.endsWith('/completions'))
    return stream ? openaiCompletionStream([[0, 'hello']], openai) : openaiCompletion(['hello'], openai);
  if (path.endsWith('/count_tokens')) return json({ input_tokens: figures.input });
  if (path.endsWith('/messages'))
    return stream ? anthropicStream(undefined, { usage: anthropic }) : anthropicMessage({ usage: anthropic });
  if (path.endsWith('/responses')) {
    const usage = { input_tokens: figures.input, output_tokens: figures.output };
    return stream ? openaiResponseStream(undefined, { usage }) : wholeResponse(usage, figures.sealed ?? 0);
  }
  const { seconds, size } = figures;
  if (path.includes('/videos')) return json({ id: `video_${++videos}`, object: 'video', status: 'completed', seconds });
  if (path.endsWith('/embeddings')) return openaiEmbeddings([[0.5]], figures.input);
  if (path.endsWith('/moderations')) return openaiModerations(1, figures.input);
  if (path.endsWith('/speech')) return spoken(asked['stream_format'] === 'sse', figures);
  if (/\/audio\/trans/.test(path))
    return json({ text: 'hello', usage: { type: 'duration', seconds: Number(seconds) } });
  if (path.endsWith('/rerank')) return cohereRanking([0.9], { tokens: { input_tokens: figures.input } });
  return openaiImages(figures.images ?? (typeof asked['n'] === 'number' ? asked['n'] : 1), { size });
}

function spoken(asEvents: boolean, { input, output }: Figures): Reply {
  if (!asEvents) return { headers: { 'content-type': 'audio/mpeg' }, steps: ['audio'] };
  const usage = { input_tokens: input, output_tokens: output };
  return sseReply(
    { data: { type: 'speech.audio.delta', audio: 'AAAA' } },
    { data: { type: 'speech.audio.done', usage } },
  );
}

/** With so many items of encrypted reasoning before its text. */
function wholeResponse(usage: ResponseUsage, sealed: number): Reply {
  const reply = openaiResponse('hello', usage);
  if (sealed === 0) return reply;
  const item = JSON.stringify({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAABencrypted' });
  const items = `${item},`.repeat(sealed);
  return { ...reply, steps: reply.steps.map((step) => withItems(step, items)) };
}

function withItems(step: Step, items: string): Step {
  return Buffer.from(Buffer.from(stepBytes(step)).toString().replace('"output":[', `"output":[${items}`));
}

export function honestAnswer(request: ProviderRequest, figures?: Figures): ProviderAnswer {
  return { pieces: [answerBytes(honestReply(request, figures))], end: 'keep' };
}

interface Framing {
  readonly status?: string;
  readonly headers?: readonly string[];
  readonly gzip?: boolean;
  /** Default: as a Reply of several steps is sent. */
  readonly chunked?: boolean;
}

export function answerBytes(reply: Reply, framing: Framing = {}): Buffer {
  const plain = reply.steps.map(stepBytes).filter((bytes) => bytes.length > 0);
  const parts = framing.gzip ? [gzipSync(Buffer.concat(plain))] : plain;
  const chunked = framing.chunked ?? parts.length > 1;
  const body = chunked ? Buffer.concat([...parts.map(chunk), Buffer.from('0\r\n\r\n')]) : Buffer.concat(parts);
  const head = [
    `HTTP/1.1 ${framing.status ?? `${reply.status ?? 200} OK`}`,
    ...Object.entries({ 'content-type': 'application/json', ...reply.headers }).map(
      ([name, value]) => `${name}: ${[value].join()}`,
    ),
    ...(framing.gzip ? ['content-encoding: gzip'] : []),
    ...(framing.headers ?? []),
    chunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

export function chunk(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

function stepBytes(step: Step): Uint8Array {
  if (typeof step === 'string') return Buffer.from(step);
  if (step instanceof Uint8Array) return step;
  return 'bytes' in step ? Buffer.from(step.bytes as string) : Buffer.alloc(0);
}
