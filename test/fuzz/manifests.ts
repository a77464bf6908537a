/**
 * Manifests: the examples, wrong by a few bytes or by a field. Whatever a file holds, there are problems to report and
 * nothing is thrown; what validates can be put in force; and a watched folder with such a file keeps its last good
 * state and recovers. The label is the example; the pieces are one file's text each.
 */
import { globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { validateSnapshot } from '#snapshot/validate.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { compile } from '../../dataplane/state/compile.ts';
import { startOperator } from '../../programs/one-machine/operator.ts';
import { validateFolder } from '../../operator/reconcile/validate-folder.ts';
import type { FuzzCase, FuzzSession, Fuzzer } from './fuzzer.ts';
import { givenMs } from './patience.ts';
import { mutate } from './mutate.ts';
import type { Random } from './random.ts';

export const manifestsFuzzer: Fuzzer = { name: 'manifests', open };

const EXAMPLES = join(import.meta.dirname, '..', '..', 'docs', 'examples');
const FILES = globSync('*/*.yaml', { cwd: EXAMPLES })
  .sort()
  .map((path) => ({ path, text: readFileSync(join(EXAMPLES, path), 'utf8') }));
const GATEWAY_NAMESPACE = 'model-gateway';

async function open(): Promise<FuzzSession> {
  const root = await mkdtemp(join(tmpdir(), 'mgw-fuzz-'));
  const watched = await openWatched(root);
  const strays: unknown[] = [];
  const stray = (error: unknown): void => {
    strays.push(error);
  };
  process.on('unhandledRejection', stray);
  process.on('uncaughtException', stray);
  let count = 0;
  let last: FuzzCase | undefined;
  return {
    batch: 8,
    next: nextCase,
    async run(one) {
      last = one;
      const folder = join(root, `case-${count++}`);
      await writeCase(folder, one);
      await checkFolder(folder);
      await rm(folder, { recursive: true });
    },
    async check() {
      if (last) await watched.edit(last);
      if (strays.length > 0) throw new Error(`unhandled in this process: ${String(strays[0])}`);
    },
    async close() {
      await watched.stop();
      process.off('unhandledRejection', stray);
      process.off('uncaughtException', stray);
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function writeCase(folder: string, { label, pieces }: FuzzCase): Promise<void> {
  await mkdir(folder, { recursive: true });
  const names = FILES.filter(({ path }) => path.startsWith(`${label}/`)).map(({ path }) =>
    path.slice(label.length + 1),
  );
  for (const [index, name] of names.entries()) await writeFile(join(folder, name), pieces[index] ?? '');
}

const SLOW_MS = 5_000;

/** Reported, not thrown, and not for ever. */
async function checkFolder(folder: string): Promise<void> {
  const before = process.cpuUsage();
  const problems = await validateFolder(folder, { gatewayNamespace: GATEWAY_NAMESPACE });
  const { user, system } = process.cpuUsage(before);
  const tookMs = (user + system) / 1000;
  if (tookMs > SLOW_MS) throw new Error(`it took ${Math.round(tookMs)} ms`);
  for (const { message, line, severity } of problems) {
    if (message === '' || !Number.isInteger(line) || line < 0)
      throw new Error(`an odd problem: ${JSON.stringify({ message, line, severity })}`);
    if (/undefined|\[object |TypeError|Cannot read/.test(message.replace(/"[^"]*"/g, '')))
      throw new Error(`a problem in no words of ours: ${message}`);
  }
}

interface Watched {
  /** Makes the case the folder's content and takes it back again: throws where the operator does not follow. */
  edit(one: FuzzCase): Promise<void>;
  stop(): Promise<void>;
}

const FOLLOW_MS = 10_000;

/** An operator over a folder that holds good manifests, and one more folder that the cases are written to. */
async function openWatched(root: string): Promise<Watched> {
  const configDir = join(root, 'config');
  const dataDir = join(root, 'data');
  await mkdir(join(configDir, 'case'), { recursive: true });
  await mkdir(dataDir);
  const steady = FILES.filter(({ path }) => path.startsWith('text-only/'));
  for (const { path, text } of steady) await writeFile(join(configDir, path.replace('/', '-')), text);
  let inForce: Snapshot | undefined;
  let compiled: ReturnType<typeof compile> | undefined;
  let changes = 0;
  const errors: string[] = [];
  let problems = 0;
  const note = (object: unknown, message?: string): void => {
    errors.push(`${message} ${JSON.stringify(object, Object.getOwnPropertyNames(object))}`);
  };
  const operator = await startOperator({
    configDir,
    dataDir,
    gatewayNamespace: GATEWAY_NAMESPACE,
    onMinted: () => undefined,
    log: { info: () => undefined, warn: note, error: note } as never,
    onProblems: (found) => {
      problems = found.length;
      changes++;
    },
    publish: (snapshot) => {
      const faults = validateSnapshot(snapshot);
      if (faults.length > 0) return { accepted: false, rejected: faults };
      compiled = compile(snapshot, compiled);
      inForce = snapshot;
      changes++;
      return { accepted: true };
    },
  });
  const until = async (what: string, done: () => boolean): Promise<void> => {
    for (const endMs = givenMs() + FOLLOW_MS; !done();) {
      if (givenMs() > endMs) throw new Error(what);
      await new Promise((resolve) => {
        setTimeout(resolve, 10);
      });
    }
  };
  const probe = join(configDir, 'probe.yaml');
  let probes = 0;

  return {
    async edit(one) {
      const before = inForce;
      await writeCase(join(configDir, 'case'), one);
      const seen = changes;
      await Promise.race([
        until('', () => changes > seen).catch(() => undefined),
        new Promise((resolve) => {
          setTimeout(resolve, 600);
        }),
      ]);
      if (problems > 0 && inForce !== before) throw new Error('a folder with mistakes was put in force');
      await rm(join(configDir, 'case'), { recursive: true });
      const name = `probe-${probes++}`;
      await writeFile(
        probe,
        `apiVersion: modelgateway.dev/v1alpha1\nkind: Group\nmetadata: {name: ${name}}\nspec: ` +
          `{routes: [{routeSelector: {}}]}\n`,
      );
      await until(
        'the operator does not follow the folder any more',
        () => problems === 0 && JSON.stringify(inForce, bigints).includes(name),
      );
      await operator.statuses();
      if (errors.length > 0)
        throw new Error(`the operator's log tells of trouble: ${errors.splice(0).join(' | ').slice(0, 1000)}`);
    },
    stop: () => operator.stop(),
  };
}

function bigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

// texts
// ---------------------------------------------------------------------------------------------------------------------

function nextCase(random: Random): FuzzCase {
  const label = random.pick(FILES).path.split('/', 1)[0] ?? '';
  const files = FILES.filter(({ path }) => path.startsWith(`${label}/`));
  const touched = random.int(files.length);
  return {
    label,
    pieces: files.map(({ text }, index) => (index === touched ? touch(text, random) : Buffer.from(text))),
  };
}

function touch(text: string, random: Random): Buffer {
  const kind = random.int(10);
  if (kind < 5) return mutate(Buffer.from(text), random, DICTIONARY);
  const documents = parseAllDocuments(text)
    .map((document) => document.toJS() as unknown)
    .filter((value) => value !== null);
  if (random.chance(0.3)) limit(random.pick(documents), random);
  if (random.chance(0.3)) for (const document of documents) limitSpending(document, random);
  for (let left = random.int(4); left > 0; left--) distort(random.pick(documents), random);
  if (random.chance(0.2)) documents.push(random.pick(documents));
  const written = documents.map((document) => stringify(document, { aliasDuplicateObjects: false })).join('---\n');
  return kind === 9 ? mutate(Buffer.from(written), random, DICTIONARY) : Buffer.from(written);
}

const LIMITED = ['spec', 'channels', 'routes'] as const;
const MEASURES = ['requestsPerMinute', 'inputTokensPerMinute', 'outputTokensPerMinute'] as const;
const AMOUNTS = [1, 60, 1_000_000, 10 ** 12, 2 ** 53 - 1, 2 ** 53, 0, -1, 1.5, '60', null];

/** Limits by the minute, of which most are good, in an object's spec, one of its channels or one of its routes. */
function limit(document: unknown, random: Random): void {
  const holders = LIMITED.reduce<unknown[]>(
    (found, name) => [...found, ...found.flatMap((holder) => childrenOf(holder, name))],
    [document],
  ).slice(1);
  if (holders.length === 0) return;
  const holder = random.pick(holders) as Record<string, unknown>;
  const measures = MEASURES.filter(() => random.chance(0.5));
  holder['rateLimits'] = Object.fromEntries(
    measures.map((measure) => [measure, random.pick(random.chance(0.7) ? AMOUNTS.slice(0, 3) : AMOUNTS)]),
  );
}

const PERIODS = ['Never', 'Daily', 'Weekly', 'Monthly', 'Day', 'Week', 'Month', 'Total', 'Minute', '', null];
const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/St_Johns', 'Etc/GMT+12', 'Mars/Phobos', '+05:30', 7];
const DOLLARS = ['25.00', '0', '9000000000', '0.000000001', '9000000000.1', '-1', 25];

/** Sets the quota of a key or the limits of an account, most of them with valid periods and time zones. */
function limitSpending(document: unknown, random: Random): void {
  const [spec] = childrenOf(document, 'spec') as Record<string, unknown>[];
  const kind: unknown = Object.entries(document ?? {}).find(([name]) => name === 'kind')?.[1];
  if (!spec || (kind !== 'ApiKey' && kind !== 'Account')) return;
  const mostlyOf = (good: number, all: readonly unknown[]): unknown =>
    random.pick(random.chance(0.8) ? all.slice(0, good) : all);
  const zone = (): object => (random.chance(0.6) ? { timeZone: mostlyOf(5, ZONES) } : {});
  if (kind === 'ApiKey') spec['quota'] = { limitUsd: mostlyOf(4, DOLLARS), period: mostlyOf(4, PERIODS), ...zone() };
  else
    spec['limits'] = Array.from({ length: random.int(10) }, () => ({
      usd: mostlyOf(4, DOLLARS),
      period: mostlyOf(4, PERIODS.slice(4)),
      ...zone(),
    }));
}

/** The objects of this name in a value. */
function childrenOf(value: unknown, name: string): unknown[] {
  const child: unknown = Object.entries(value ?? {}).find(([own]) => own === name)?.[1];
  return [child].flat().filter((each) => typeof each === 'object' && each !== null);
}

/** Somewhere in the value, something else. */
function distort(value: unknown, random: Random): void {
  if (typeof value !== 'object' || value === null) return;
  const holder = value as Record<string, unknown>;
  const names = Object.keys(holder);
  if (names.length === 0) return;
  const name = random.pick(names);
  if (typeof holder[name] === 'object' && random.chance(0.75)) return distort(holder[name], random);
  const kind = random.int(6);
  if (kind === 0) delete holder[name];
  else if (kind === 1) holder[random.pick(NAMES)] = holder[name];
  else if (kind === 2) holder[name] = [holder[name], holder[name]];
  else if (kind === 3) holder[random.pick(NAMES)] = random.pick(VALUES);
  else holder[name] = random.pick(VALUES);
}

const NAMES = [
  'spec',
  'metadata',
  'kind',
  'name',
  'namespace',
  'models',
  'routes',
  'constructor',
  'toString',
  'unknownField',
  '',
  ' ',
  '0',
  'a.b/c',
  'é',
  'status',
  'labels',
  'annotations',
  'finalizers',
  'creationTimestamp',
  'generation',
  'uid',
  'maxConcurrency',
  'limits',
  'period',
  'timeZone',
  'rateLimits',
  'requestsPerMinute',
  'inputTokensPerMinute',
  'outputTokensPerMinute',
];
const VALUES: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '1e3',
  '-0',
  '00.1',
  '9999999999.999999999',
  '99999999999',
  '0.0000000001',
  'NaN',
  true,
  [],
  {},
  [[]],
  [null],
  [{}],
  { from: 'All' },
  { from: 'Selector' },
  { matchLabels: { a: null } },
  { matchExpressions: [{ key: 'a', operator: 'In' }] },
  'Unlimited',
  'unlimited',
  'a'.repeat(300),
  'A',
  '-a',
  'é',
  '\0',
  '\n',
  '__proto__',
  'constructor',
  '${x}',
  'http://',
  'http://[',
  'ftp://x',
  'http://user:secret@host/',
  'http://x:99999',
  'https://é.example',
  'javascript:1',
  '2026-02-30T00:00:00Z',
  '2026-01-01',
  '10000-01-01T00:00:00Z',
  'Never',
  'Weekly',
  'Month',
  'Europe/Berlin',
  'Direct',
  'Automatic',
  ['a', 'a'],
  Array.from({ length: 600 }, (_, index) => ({ name: `m${index}` })),
  Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, 'v'])),
  { a: { b: { c: { d: {} } } } },
];
const DICTIONARY = [
  '---\n',
  '...\n',
  '%YAML 1.3\n---\n',
  '%TAG ! tag:x,2000:\n---\n',
  '&a ',
  '*a',
  '*b\n',
  '<<: *a\n',
  '!!js/function "x"',
  '!!binary "AAAA"',
  '!!set {a}',
  '!!int "x"',
  '!<x> ',
  '? ',
  '? [a]\n: b\n',
  ': ',
  '- ',
  '\t',
  '|',
  '>-\n',
  '|9\n',
  '"',
  "'",
  '# ',
  '[',
  '{',
  ']',
  '}',
  '{{ x }}',
  '\0',
  '\ufeff',
  '\x85',
  '\u2028',
  '\r',
  '\r\n',
  '@',
  '`',
  '~',
  '.inf',
  '.nan',
  '0o17',
  '0b1',
  '1_000',
  '1:30',
  'yes',
  'kind: List\nitems: []\n',
  'kind: Secret\n',
  'apiVersion: v1\n',
  'apiVersion: modelgateway.dev/v9\n',
  'metadata: {name: x, name: y}\n',
  '__proto__: {a: 1}\n',
  'a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n' +
    'd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n',
  '['.repeat(2000),
  '{a: '.repeat(1000),
  '- '.repeat(2000),
  `x: ${'y'.repeat(100_000)}\n`,
  'k: v\n'.repeat(500),
  '---\n'.repeat(500),
  '\xff',
  '\xc3(',
].map((word) => Buffer.from(word, 'utf8'));
