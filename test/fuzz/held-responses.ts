/** The resident memory that providers' responses make a gateway hold, by the way to read one and by its encoding. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { KEYS } from '../support/manifests.ts';
import { jsonOf } from './honest.ts';
import { startMeasured } from './measured.ts';
import type { Measured } from './measured.ts';
import { startRawProvider } from './provider.ts';
import type { ProviderAnswer, ProviderRequest } from './provider.ts';

const MIB = 2 ** 20;

/** How a response reaches a client, or the gateway itself. */
export const RESPONSE_WAYS = ['whole', 'stream', 'stored', 'stored stream', 'input_items', 'poll'] as const;
export type ResponseWay = (typeof RESPONSE_WAYS)[number];

/** What is in a response: many encrypted items, or a few and a large picture. */
const CONTENTS = { items: { count: 2_000, pictureBytes: 0 }, picture: { count: 99, pictureBytes: 12 * MIB } } as const;
export type ResponseContent = keyof typeof CONTENTS;
export const RESPONSE_CONTENTS: readonly ResponseContent[] = ['items', 'picture'];

const ENCODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => gzipSync(bytes, { level: 1 }),
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
};
export const RESPONSE_ENCODINGS: readonly string[] = Object.keys(ENCODERS);

export interface ResponseAttack {
  readonly way: ResponseWay;
  readonly content: ResponseContent;
  readonly encoding: string;
  /** The number of responses. All are asked for at once. */
  readonly count: number;
}

export interface ResponsesHeld {
  readonly grownBytes: number;
  /** How many were read, and how many ended with an error because memory was full. */
  readonly read: number;
  readonly refused: number;
  /** The growth and the processor time, for people. */
  readonly figures: string;
}

export interface ResponsesUnderAttack {
  measure(attack: ResponseAttack): Promise<ResponsesHeld>;
  stop(): Promise<void>;
}

/** Starts a provider and a gateway with so much memory for what calls hold. */
export async function attackByResponses(maxBodyBytes: number, maxBufferedBytes: number): Promise<ResponsesUnderAttack> {
  const served: Serving = { answer: undefined, made: 0, polled: 0 };
  const provider = await startRawProvider((asked) => serve(asked, served));
  const gateway = await startMeasured(provider.url, maxBodyBytes, maxBufferedBytes);
  return {
    measure: (attack) => measure({ gateway, served }, attack),
    async stop() {
      await gateway.stop();
      await provider.stop();
    },
  };
}

interface Serving {
  /** Undefined: what is made to be asked for later. */
  answer: Buffer | undefined;
  made: number;
  polled: number;
}

function serve(asked: ProviderRequest, served: Serving): ProviderAnswer {
  const { background } = jsonOf(asked);
  if (served.answer === undefined || (background === true && asked.method === 'POST')) {
    const status = background === true ? 'queued' : 'completed';
    const made = {
      ...RESPONSE,
      id: `resp_own${++served.made}`,
      status,
      background: background === true,
      output: [],
      usage: null,
    };
    return { pieces: [framed(Buffer.from(JSON.stringify(made)), 'identity', 'application/json')], end: 'keep' };
  }
  if (asked.method === 'GET') served.polled++;
  return { pieces: [served.answer], end: 'keep' };
}

const USAGE = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
const RESPONSE = { id: 'resp_own', object: 'response', usage: USAGE } as const;

function framed(body: Buffer, encoding: string, type: string): Buffer {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

function answerOf({ way, content, encoding }: ResponseAttack): Buffer {
  const { count, pictureBytes } = CONTENTS[content];
  const items = [
    ...Array.from({ length: count }, (_, index) => ({
      type: 'reasoning',
      id: `rs_${index}`,
      summary: [],
      encrypted_content: `gAAAA-own-${randomBytes(400).toString('base64')}`,
    })),
    {
      type: 'image_generation_call',
      result: randomBytes((pictureBytes * 3) / 4).toString('base64'),
    },
  ];
  const response = { ...RESPONSE, status: 'completed', output: items };
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
    { type: 'response.completed', response },
  ];
  const isStream = way === 'stream' || way === 'stored stream';
  const text = isStream
    ? events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    : JSON.stringify(way === 'input_items' ? { object: 'list', data: items } : response);
  const body = (ENCODERS[encoding] ?? ((bytes) => bytes))(Buffer.from(text));
  return framed(body, encoding, isStream ? 'text/event-stream' : 'application/json');
}

async function measure(
  { gateway, served }: { readonly gateway: Measured; readonly served: Serving },
  attack: ResponseAttack,
): Promise<ResponsesHeld> {
  served.answer = undefined;
  const [, id = ''] = /"id":"([^"]+)"/.exec((await ask(gateway, 'POST', '/v1/responses', ASK)).text) ?? [];
  served.answer = answerOf(attack);
  served.polled = 0;
  const { rss, cpuMs } = await gateway.memory();
  const texts = await Promise.all(Array.from({ length: attack.count }, () => askBy(gateway, attack.way, id)));
  // a poll follows its creation at once
  while (attack.way === 'poll' && served.polled < attack.count) await pause();
  const after = await gateway.memory();
  const grownBytes = Math.max(0, after.peakRss - rss);
  const refused = texts.filter(({ text }) => text.includes('"error":{')).length;
  const read = texts.filter(({ text }) => text.includes('mgw1_') && !text.includes('"error":{')).length;
  if (texts.some(({ text }) => text.includes('gAAAA-own'))) throw new Error('a bare encrypted value');
  const cpu = ((after.cpuMs - cpuMs) / attack.count).toFixed(0);
  const grown = `${Math.round(grownBytes / MIB)} MiB`;
  const figures =
    `${attack.way}, ${attack.content}, ${attack.encoding}: ${grown}, ${cpu} ms of CPU time each; ` +
    `${read} of ${attack.count} read, ${refused} refused`;
  return { grownBytes, read, refused, figures };
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
}

const ASK = { model: 'gpt-model', input: 'x', max_output_tokens: 20 };

function askBy(gateway: Measured, way: ResponseWay, id: string): Promise<Received> {
  switch (way) {
    case 'whole':
      return ask(gateway, 'POST', '/v1/responses', ASK);
    case 'stream':
      return ask(gateway, 'POST', '/v1/responses', { ...ASK, stream: true });
    case 'poll':
      return ask(gateway, 'POST', '/v1/responses', { ...ASK, background: true });
    case 'stored':
      return ask(gateway, 'GET', `/v1/responses/${id}`);
    case 'stored stream':
      return ask(gateway, 'GET', `/v1/responses/${id}?stream=true`);
    case 'input_items':
      return ask(gateway, 'GET', `/v1/responses/${id}/input_items`);
  }
}

interface Received {
  readonly text: string;
}

async function ask({ url }: Measured, method: string, path: string, body?: object): Promise<Received> {
  const sent = request(url + path, {
    method,
    agent: false,
    headers: { authorization: `Bearer ${KEYS.main}`, ...(body && { 'content-type': 'application/json' }) },
  });
  sent.end(body && JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return { text: Buffer.concat(pieces).toString('latin1') };
}
