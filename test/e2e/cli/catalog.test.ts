/** `mgw catalog`: public lists from a file, stdin and the network; a change in money; what goes wrong, in words. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { openFile } from '../../../dataplane/ledger/embedded/schema.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import { inheritedEnvironment, mgw, tempFolder } from '../../support/cli.ts';
import type { TempFolder } from '../../support/cli.ts';
import { addRecords } from '../../support/usage-rows.ts';

const ROOT = join(import.meta.dirname, '../../..');
const REPOSITORY = join(ROOT, 'docs/examples/gitops');

const LITELLM = JSON.stringify({
  'gpt-4o': {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_token: 0.0000025,
    output_cost_per_token: 0.00001,
    cache_read_input_token_cost: 0.00000125,
    tiered_pricing: [{}],
  },
  'gpt-4o-mini': {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_token: 1.5e-7,
    output_cost_per_token: 6e-7,
    cache_read_input_token_cost: 7.5e-8,
  },
  'claude-sonnet-4-6': {
    litellm_provider: 'anthropic',
    mode: 'chat',
    input_cost_per_token: 0.000004,
    output_cost_per_token: 0.00002,
    cache_read_input_token_cost: 4e-7,
  },
});
const LISTS = {
  'litellm.json': LITELLM,
  'models-dev.json': '{"openai": {"name": "OpenAI", "models": {"gpt-4o": {"cost": {"input": 2.5, "output": 11}}}}}',
  'openrouter.json': '{"data": [{"id": "openai/gpt-4o", "pricing": {"prompt": "0.0000025", "completion": "0.00001"}}]}',
  'portkey.json': `{"gpt-4o": {"pricing_config": {"currency": "USD", "pay_as_you_go": {
    "request_token": {"price": 0.00025}, "response_token": {"price": 0.001}}}}}`,
};

let folder: TempFolder;
beforeAll(async () => {
  folder = await tempFolder(LISTS);
});
afterAll(() => folder[Symbol.asyncDispose]());

const place = (file: string): string => join(folder.path, file);

interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command whose stdin is a text. */
async function run(
  command: string,
  args: readonly string[],
  more: {
    readonly stdin?: string;
    readonly cwd?: string;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<Ended> {
  const child = spawn(command, args, { cwd: more.cwd, env: { ...inheritedEnvironment(), ...more.env } });
  child.stdin.end(more.stdin);
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { exitCode, stdout, stderr };
}

describe('mgw catalog import', () => {
  const rates = ({ stdout }: Ended): unknown =>
    (parse(stdout) as { readonly spec: { readonly models: readonly { readonly usdPerMillion: unknown }[] } }).spec
      .models[0]?.usdPerMillion;

  it('reads each kind of list from a file', async () => {
    for (const [file, kind, key, cacheRead] of [
      ['litellm.json', 'litellm', 'gpt-4o', '1.25'],
      ['models-dev.json', 'models.dev', 'openai/gpt-4o', undefined],
      ['openrouter.json', 'openrouter', 'openai/gpt-4o', undefined],
      ['portkey.json', 'portkey', 'gpt-4o', undefined],
    ] as const) {
      const ended = await mgw(['catalog', 'import', place(file), '--from', kind, '--models', `gpt-4o=${key}`]);
      assert.equal(ended.exitCode, 0, ended.stderr);
      assert.deepEqual(rates(ended), {
        input: '2.5',
        output: kind === 'models.dev' ? '11' : '10',
        ...(cacheRead && { cacheRead }),
      });
      assert.match(ended.stdout, new RegExp(`prices.modelgateway.dev/source: ${kind}\n`));
    }
  });
  it('reads a list from stdin, for the models of the routes, and says what is missing', async () => {
    const config = join(REPOSITORY, 'models');
    const script = join(ROOT, 'bin/mgw.js');
    const ended = await run(process.execPath, [script, 'catalog', 'import', '-', '--config', config], {
      stdin: LITELLM,
    });
    assert.deepEqual(
      [ended.exitCode, ended.stdout.match(/name: .*/g)],
      [0, ['name: imported', 'name: claude-sonnet-4-6', 'name: gpt-4o', 'name: gpt-4o-mini']],
      ended.stderr,
    );
    assert.equal(ended.stderr, 'gpt-4o: not imported: tiered_pricing\n');
    const absent = await mgw(['catalog', 'import', place('portkey.json'), '--config', config]);
    assert.deepEqual([absent.exitCode, absent.stderr.match(/.*not in the price list/g)?.length], [1, 2]);
  });
  it('fetches a list only from --url, and says why it cannot', async () => {
    const server = createServer(({ url }, response) => {
      response.writeHead(url === '/list' ? 200 : 404).end(LITELLM);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const fetched = (from: string): Promise<Ended> =>
      mgw(['catalog', 'import', '--url', from, '--models', 'gpt-4o-mini']);
    const ended = await fetched(`${url}/list`);
    assert.deepEqual([ended.exitCode, ended.stderr], [0, '']);
    assert.deepEqual(rates(ended), { input: '0.15', output: '0.6', cacheRead: '0.075' });
    const missing = await fetched(`${url}/other`);
    server.close();
    assert.deepEqual(
      [missing.exitCode, missing.stderr],
      [1, `${url}/other cannot be fetched: the response has status 404\n`],
    );
    for (const wrong of [url, 'nonsense']) {
      const { exitCode, stderr } = await fetched(wrong);
      assert.deepEqual([exitCode, stderr.split('\n').length], [1, 2], stderr);
      assert.ok(stderr.startsWith(`${wrong} cannot be fetched: `), stderr);
    }
  });
  it('compares with a list or a catalog of --config, whatever the key in the first list', async () => {
    const compare = (second: string): Promise<Ended> =>
      mgw([
        'catalog',
        'import',
        place('models-dev.json'),
        '--models',
        'gpt-4o=openai/gpt-4o',
        '--compare',
        second,
        '--config',
        join(REPOSITORY, 'models'),
      ]);
    for (const [second, title] of [
      [place('litellm.json'), 'LITELLM'],
      ['standard', 'THE CATALOG STANDARD'],
    ] as const) {
      const { exitCode, stderr } = await compare(second);
      assert.equal(exitCode, 0, stderr);
      const table = `^MODEL +FIGURE +MODELS\\.DEV +${title}\\ngpt-4o +usdPerMillion\\.output +11 +10$`;
      assert.match(stderr, new RegExp(table, 'm'));
    }
    const { exitCode, stderr } = await compare('nowhere');
    assert.equal(exitCode, 1);
    assert.match(stderr, /^--compare nowhere: no such file, and no PriceCatalog with this name in .+models\n$/);
  });
});

/** A ledger of one call with a million tokens of input for each model. */
function ledgerOf(path: string, models: readonly string[]): string {
  const db = openFile(path);
  const records = models.map((model) => ({
    callId: `req_${model}`,
    keyUid: 'team-blue/prototype',
    account: 'team-blue/team-blue',
    createdMs: Date.now(),
    group: 'standard',
    model,
    channel: 'openai/main',
    catalog: 'model-gateway/standard@1',
    costNanoUsd: 1n,
    tokens: { ...NO_TOKENS, input: 1_000_000 },
    usageSource: 'Provider' as const,
    status: 'Succeeded' as const,
    unbilledNanoUsd: 0n,
    durationMs: 1,
  }));
  addRecords(db, records, Date.now());
  db.close();
  return `file:${path}`;
}

describe('mgw catalog diff', () => {
  const models = join(REPOSITORY, 'models');
  const diff = (...flags: readonly string[]): Promise<Ended> => mgw(['catalog', 'diff', models, models, ...flags]);

  it('reads what mgw usage prints', async () => {
    const ledger = ledgerOf(place('usage.db'), ['gpt-4o', 'gone']);
    const { stdout } = await mgw(['usage', '--ledger', ledger, '--format', 'json']);
    const file = await folder.write('usage.json', stdout);
    const [ofFile, ofLedger] = [await diff('--usage', file), await diff('--ledger', ledger)];
    assert.equal(ofFile.stdout, ofLedger.stdout);
    assert.match(ofFile.stdout, /^2 calls of the last 30 days: 2\.50 at the old prices, 2\.50 at the new prices/);
    assert.match(ofFile.stdout, /Without a price in the new catalogs\n +What +Calls\n +model gone +1\n$/);
  });
  it('counts the prices of a moment, so that a promotion is told before it begins', async () => {
    const of = (prices: string): string => `apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: standard}
spec: {models: [${prices}]}
`;
    const price = 'name: gpt-4o, vendor: V, quotaType: Token, usdPerMillion:';
    const old = await folder.write('old/prices.yaml', of(`{${price} {input: "2"}}`));
    await folder.write('new/prices.yaml', of(`{${price} {input: "2"}}`));
    await folder.write(
      'new/promotion.yaml',
      of(`{${price} {input: "1"}, validFrom: "2126-01-01T00:00:00Z",
      validUntil: "2126-02-01T00:00:00Z"}`).replace('standard', 'promotion'),
    );
    const ledger = ledgerOf(place('promotion.db'), ['gpt-4o']);
    const total = async (...flags: readonly string[]): Promise<unknown> => {
      const { stdout, stderr } = await mgw([
        'catalog',
        'diff',
        old,
        place('new'),
        '--ledger',
        ledger,
        '--format',
        'json',
        ...flags,
      ]);
      assert.equal(stderr, '');
      return (JSON.parse(stdout) as { readonly total: { readonly new_usd: unknown } }).total.new_usd;
    };
    assert.deepEqual(
      [await total(), await total('--at', '2126-01-15'), await total('--at', '2126-02-01T00:00:00Z')],
      ['2.00', '1.00', '2.00'],
    );
    const { exitCode, stderr } = await diff('--ledger', ledger, '--at', 'soon');
    assert.deepEqual([exitCode, stderr.includes('It must be a date such as 2026-12-01')], [64, true]);
  });
  it('says how many calls have keys whose automatic group is unknown', async () => {
    const group = (name: string, spec: string): string =>
      `apiVersion: modelgateway.dev/v1alpha1\nkind: Group\nmetadata: {name: ${name}}\nspec: {${spec}}\n---\n`;
    const automatic = await folder.write(
      'automatic/groups.yaml',
      group('main', 'routes: [{routeSelector: {}}]') +
        group('smart', 'type: Automatic, priceRatio: "2", members: [{name: main}]'),
    );
    const ledger = ledgerOf(place('automatic.db'), ['gpt-4o']);
    const { exitCode, stderr } = await mgw(['catalog', 'diff', automatic, automatic, '--ledger', ledger]);
    assert.deepEqual(
      [exitCode, stderr],
      [
        0,
        'The keys of 1 calls are not in the manifests: the ratio of an automatic group counts as 1 for these calls.\n',
      ],
    );
  });
  it('says what it cannot read', async () => {
    const calls = await folder.write('calls.json', '[{"id": "req_1"}]');
    for (const [flags, words] of [
      [['--usage', place('none.json')], /^.+none\.json cannot be read: ENOENT.+\n$/],
      [['--usage', place('portkey.json')], /^The usage must be the list that mgw usage --format json prints\.\n$/],
      [['--usage', calls], /^The usage must be .+ prints; its entry 1 is not a call\.\n$/],
      [['--usage', join(ROOT, 'LICENSE')], /^The usage must be .+ prints: .+ is not valid JSON\n$/],
      [['--ledger', 'valkey://127.0.0.1:1'], /^the ledger cannot be reached: .+\n$/],
    ] as const) {
      const { exitCode, stderr } = await diff(...flags);
      assert.equal(exitCode, 1, stderr);
      assert.match(stderr, words);
    }
  });
});

describe('the weekly job of docs/guides/gitops.md', () => {
  interface Workflow {
    readonly jobs: { readonly prices: { readonly steps: readonly { readonly run?: string }[] } };
  }

  /** A clone of the example repository, and programs in the place of those that reach the network. */
  async function repository(list: string): Promise<{ readonly week: () => Promise<Ended>; readonly path: string }> {
    const page = await readFile(join(ROOT, 'docs/guides/gitops.md'), 'utf8');
    const block = /^```yaml\n(on: \{ ?schedule[\s\S]*?)^```/m.exec(page)?.[1] ?? assert.fail('the page has no job');
    const script = (parse(block) as Workflow).jobs.prices.steps.flatMap(({ run: each }) => each ?? []).join('\n');
    const home = await tempFolder();
    onTestFinished(() => home[Symbol.asyncDispose]());
    const [path, programs] = [join(home.path, 'repository'), join(home.path, 'programs')];
    const ledger = ledgerOf(join(home.path, 'ledger.db'), ['gpt-4o', 'claude-sonnet-4-6']);
    await writeFile(join(home.path, 'list.json'), list);
    await mkdir(programs);
    for (const [name, body] of Object.entries({
      curl: `while [ "$1" != -o ]; do shift; done; cp "${home.path}/list.json" "$2"`,
      gh: 'printf "%s " "$@"; while [ "$1" != --body-file ]; do shift; done; printf "\\n"; cat "$2"',
      mgw: `exec "${process.execPath}" "${join(ROOT, 'bin/mgw.js')}" "$@"`,
    })) {
      await writeFile(join(programs, name), `#!/bin/sh\n${body}\n`);
      await chmod(join(programs, name), 0o755);
    }
    const env = {
      HOME: home.path,
      GIT_CONFIG_NOSYSTEM: '1',
      LEDGER: ledger,
      PATH: `${programs}:${process.env['PATH'] ?? ''}`,
    };
    await cp(REPOSITORY, path, { recursive: true });
    const prepared = await run(
      'bash',
      [
        '-ec',
        `git init -q --bare ../origin && git init -q -b main
      git add . && git -c user.name=a -c user.email=a@example.com commit -qm first
      git remote add origin ../origin && git push -q origin main`,
      ],
      { cwd: path, env },
    );
    assert.equal(prepared.exitCode, 0, prepared.stderr);
    return { path, week: () => run('bash', ['-e', '-o', 'pipefail', '-c', script], { cwd: path, env }) };
  }

  it('opens a pull request that tells the change in money, and none while nothing changes', async () => {
    const { path, week } = await repository(LITELLM);
    const first = await week();
    assert.equal(first.exitCode, 0, first.stderr);
    assert.match(first.stdout, /^pr create --title Update prices --body-file \S+ $/m);
    assert.match(first.stdout, /\*\*2 calls of the last 30 days: 5\.50 at the old prices, 6\.50 at the new prices/);
    assert.match(first.stdout, /\| claude-sonnet-4-6 \| 1 \| 3\.00 \| 4\.00 \| \+1\.00 \(\+33\.3 %\) \|/);
    assert.match(first.stdout, /^ {4}gpt-4o: not imported: tiered_pricing$/m);
    const { stdout: pushed } = await run('git', [
      '--git-dir',
      join(path, '../origin'),
      'log',
      '--all',
      '--topo-order',
      '--format=%s',
    ]);
    assert.deepEqual(pushed.trim().split('\n'), ['Update prices', 'first']);
    const second = await week();
    assert.deepEqual([second.exitCode, second.stdout], [0, ''], second.stderr);
  });
  it('fails with the remarks where a model is missing, and changes nothing', async () => {
    const { path, week } = await repository(LITELLM.replace('"gpt-4o":', '"gpt-4":'));
    const { exitCode, stdout } = await week();
    assert.equal(exitCode, 1);
    assert.match(stdout, /^gpt-4o: not in the price list/m);
    const { stdout: changed } = await run('git', ['diff', '--stat'], { cwd: path });
    assert.equal(changed, '');
  });
});
