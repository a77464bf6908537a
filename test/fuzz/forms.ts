/**
 * Forms (multipart/form-data) that parsers disagree about: media types with several boundaries, quoted, folded and
 * repeated parameters, fields twice or by another name, and bodies that are two forms at once. The provider reads what
 * reaches it in two ways, which must agree, and orders the dearest that it finds, which must have been held for. The
 * pieces are the media type and the body.
 */
import { KEYS } from '../support/manifests.ts';
import { Cases } from './cases.ts';
import { folded } from './confuse.ts';
import type { FuzzCase, FuzzSession, Fuzzer } from './fuzzer.ts';
import { fieldsOf, orderOf } from './greedy.ts';
import { honestAnswer } from './honest.ts';
import { mutate } from './mutate.ts';
import { dueOf } from './orders.ts';
import { patience } from './patience.ts';
import type { ProviderAnswer, ProviderRequest } from './provider.ts';
import type { Random } from './random.ts';
import { CHEAP_SIZE, leakIn, openScene, withVideos } from './scene.ts';
import type { Scene } from './scene.ts';

export const formsFuzzer: Fuzzer = { name: 'forms', open };

/** What the provider made of a case. */
interface Served {
  dueNanoUsd: bigint;
  fault: string | undefined;
}

async function open(): Promise<FuzzSession> {
  const cases = new Cases<Served>();
  const scene = await openScene({ platform: withVideos, answer: (request) => serve(request, cases) });
  return {
    batch: 32,
    next: nextCase,
    async run(one) {
      const served: Served = { dueNanoUsd: 0n, fault: undefined };
      await cases.run(served, (headers) => runCase(scene, one, { headers, served }));
    },
    async check() {
      await scene.calm();
      cases.check();
    },
    close: () => scene.close(),
  };
}

async function serve(request: ProviderRequest, cases: Cases<Served>): Promise<ProviderAnswer> {
  const served = cases.of(request);
  try {
    const fields = orderOf(await fieldsOf(request));
    const order = request.path.includes('/audio/') ? { ...fields, seconds: await heardSeconds(request) } : fields;
    if (served) served.dueNanoUsd = dueOf(order);
    return honestAnswer(request, { input: 0, output: 0, images: order.count, seconds: String(order.seconds) });
  } catch (error) {
    if (served) served.fault = String(error);
    return honestAnswer(request);
  }
}

/** No speech has fewer bytes in a second. */
const LEAST_BYTES_PER_SECOND = 500;

/** Of all files of the form, in whatever field. */
async function heardSeconds({ headers, body }: ProviderRequest): Promise<number> {
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? '';
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  const sizes = [...form].map(([, value]) => (typeof value === 'string' ? 0 : value.size));
  return Math.max(1, Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / LEAST_BYTES_PER_SECOND));
}

// what is sent
// ---------------------------------------------------------------------------------------------------

const BOUNDARIES = ['one', 'two'] as const;
/** Twelve seconds of audio of an unknown kind. */
const NOISE = 'x'.repeat(6_000);
const TYPE_WORDS = [
  'multipart/form-data',
  'Multipart/Form-Data',
  'multipart/mixed',
  'application/json',
  '; boundary=one',
  '; boundary=two',
  '; boundary="one"',
  '; boundary="two"',
  '; Boundary=two',
  '; BOUNDARY="two"',
  ';boundary=one',
  '; boundary =two',
  '; boundary= two',
  "; boundary*=utf-8''two",
  '; boundary*0=t; boundary*1=wo',
  '; boundary="on\\e"',
  '; x="; boundary=two"',
  '; x="\\"; boundary=two; y=\\""',
  '; charset=utf-8',
  '; charset=utf-16',
  '; _charset_=x',
  ', boundary=two',
  ', multipart/form-data; boundary=two',
  ';;',
  ' ',
  '"',
  '\\',
];
const BODY_WORDS = [
  '\r\n--one\r\n',
  '\r\n--two\r\n',
  '--one--\r\n',
  '--two--\r\n',
  '\r\n',
  '\n',
  '\r\n\r\n',
  '--',
  ' ',
  '\t',
  '"',
  '; name="seconds"',
  '; name=seconds',
  "; name*=utf-8''seconds",
  '; filename="x"',
  'Content-Disposition: form-data; name="seconds"\r\n\r\n12\r\n--one\r\n',
  'Content-Transfer-Encoding: base64\r\n',
  'Content-Type: multipart/mixed; boundary=two\r\n',
  'Content-Type: text/plain; charset=utf-16\r\n',
];
const NAMES = [
  'seconds',
  'duration',
  'n',
  'n[]',
  'model',
  'model[]',
  '[model]',
  '.model',
  '[n]',
  'extra_body',
  'parameters',
  'parameters[duration]',
  'parameters[n]',
  'parameters.seconds',
  'seconds[]',
  'size',
  'size[]',
  'image_size',
  'file',
  'file[]',
  'audio_url',
];
const VALUES = [
  '12',
  '4',
  '1',
  '8',
  'dear-film-model',
  'film-model',
  'dear-sketch-model',
  '1792x1024',
  CHEAP_SIZE,
  '{"n":8}',
  'dear-ear-model',
  NOISE,
  '{"seconds":12,"size":"1792x1024"}',
];

/** Names of fields that are files, and of others that servers may take for one. */
const FILES: ReadonlySet<string> = new Set(['image', 'file', 'file[]']);

type Fields = readonly (readonly [name: string, value: string])[];

interface Target {
  readonly path: string;
  readonly cheap: Fields;
  readonly dear: Fields;
}

const TARGETS: readonly Target[] = [
  {
    path: '/v1/videos',
    cheap: [
      ['model', 'film-model'],
      ['prompt', 'a river'],
      ['seconds', '4'],
    ],
    dear: [
      ['model', 'dear-film-model'],
      ['prompt', 'x'],
      ['seconds', '12'],
    ],
  },
  {
    path: '/v1/images/edits',
    cheap: [
      ['model', 'sketch-model'],
      ['prompt', 'a river'],
      ['image', 'PNG'],
      ['size', CHEAP_SIZE],
    ],
    dear: [
      ['model', 'dear-sketch-model'],
      ['prompt', 'x'],
      ['image', 'PNG'],
      ['n', '8'],
    ],
  },
  {
    path: '/v1/audio/transcriptions',
    cheap: [
      ['model', 'ear-model'],
      ['file', 'a river'],
      ['prompt', 'a river'],
    ],
    dear: [
      ['model', 'dear-ear-model'],
      ['file', NOISE],
    ],
  },
];

function nextCase(random: Random): FuzzCase {
  const target = random.pick(TARGETS);
  const type = random.chance(0.4) ? 'multipart/form-data; boundary=one' : typeOf(random);
  const body = bodyOf(target, random);
  const bytes = random.chance(0.3) ? mutate(body, random, BODY_WORDS) : body;
  return { label: target.path, pieces: [Buffer.from(type, 'latin1'), bytes] };
}

function typeOf(random: Random): string {
  const words = Array.from({ length: 1 + random.int(4) }, () => random.pick(TYPE_WORDS));
  return `multipart/form-data${random.chance(0.5) ? '; boundary=one' : ''}${words.join('')}`;
}

/** A form, or one whose field holds another. */
function bodyOf(target: Target, random: Random): Buffer {
  const cheap = formOf(fieldsIn(target, random), 'one', random);
  if (random.chance(0.6)) return cheap;
  const dear = formOf(target.dear, 'two', random);
  const [outer, inner] = random.chance(0.8) ? [cheap, dear] : [dear, cheap];
  const at = outer.indexOf('a river');
  return at < 0
    ? Buffer.concat([outer, inner])
    : Buffer.concat([outer.subarray(0, at), Buffer.from('\r\n'), inner, outer.subarray(at)]);
}

function fieldsIn({ cheap }: Target, random: Random): Fields {
  const fields = cheap.map(([name, value]): readonly [string, string] =>
    name === 'seconds' && random.chance(0.1) ? [name, random.pick(VALUES)] : [name, value],
  );
  while (random.chance(0.4)) {
    const name = random.pick(NAMES);
    fields.splice(random.int(fields.length + 1), 0, [
      random.chance(0.5) ? folded(name, random) : name,
      random.pick(VALUES),
    ]);
  }
  return fields;
}

function formOf(fields: Fields, boundary: (typeof BOUNDARIES)[number], random: Random): Buffer {
  const parts = fields.map(([name, value]) => {
    const quoted = random.chance(0.95) ? `"${name}"` : name;
    const file = FILES.has(name) ? '; filename="a.png"' : '';
    const more = random.chance(0.05) ? random.pick(['; filename="a.png"', '; name="n"', '; x=y', ' ']) : file;
    return `--${boundary}\r\nContent-Disposition: form-data; name=${quoted}${more}\r\n\r\n${value}\r\n`;
  });
  return Buffer.from(`${parts.join('')}--${boundary}--\r\n`);
}

// what may come back
// ---------------------------------------------------------------------------------------------------

const ANSWER_MS = 20_000;

async function runCase(
  scene: Scene,
  { label: path, pieces: [type, ...body] }: FuzzCase,
  { headers, served }: { readonly headers: Readonly<Record<string, string>>; readonly served: Served },
): Promise<void> {
  const response = await fetch(scene.gateway.url + path, {
    method: 'POST',
    headers: {
      'content-type': type?.toString('latin1') ?? '',
      authorization: `Bearer ${KEYS.main}`,
      ...headers,
      connection: 'close',
    },
    body: Buffer.concat(body),
    signal: patience(ANSWER_MS),
  });
  const text = await response.text();
  const { status } = response;
  if (status >= 500 || (status >= 300 && status < 400)) throw new Error(`${status} ${text.slice(0, 500)}`);
  if (leakIn(Buffer.from(text), scene.provider) !== undefined) throw new Error('the answer shows the provider');
  if (served.fault !== undefined) throw new Error(`the provider: ${served.fault}`);
  const money = scene.money.get(response.headers.get('x-request-id') ?? '');
  if (status >= 300) return;
  if (!money) throw new Error('an answer without a hold');
  if (served.dueNanoUsd > money.heldNanoUsd)
    throw new Error(`held ${money.heldNanoUsd}, and the provider would make ${served.dueNanoUsd} of it`);
  if (money.settled?.record.usageSource === 'Implausible') throw new Error('an honest provider is implausible');
}
