/** Help, and wrong command lines: exit code 64, with a message that says what is valid. */
import assert from 'node:assert/strict';
import { InvalidArgumentError } from 'commander';
import { describe, it } from 'vitest';
import { parseAddress, parseBytes, parseLedger, parseNamespace, urlOf, withoutUnset } from '../../../bin/options.ts';
import manifest from '../../../package.json' with { type: 'json' };
import { mgw } from '../../support/cli.ts';

describe('help', () => {
  it('covers every command, and lists only what works', async () => {
    const [all, run, validate, demo, helpRun] = await Promise.all([
      mgw(['--help']),
      mgw(['run', '--help']),
      mgw(['validate', '-h']),
      mgw(['demo-provider', '--help']),
      mgw(['help', 'run']),
    ]);
    for (const each of [all, run, validate, demo, helpRun]) assert.deepEqual([each.exitCode, each.stderr], [0, '']);
    assert.deepEqual(
      [...all.stdout.matchAll(/^ {2}([a-z-]+) (?=.* {2})/gm)].map(([, name]) => name),
      [
        'run',
        'validate',
        'doctor',
        'operator',
        'dataplane',
        'sidecar',
        'usage',
        'catalog',
        'retire',
        'demo-provider',
        'help',
      ],
    );
    assert.match(all.stdout, /Exit codes: 0 success, 1 failure, 64 invalid command line/);
    assert.equal(helpRun.stdout, run.stdout);
    const flags = [...run.stdout.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name);
    assert.deepEqual(flags, [
      'config',
      'listen',
      'admin',
      'console',
      'no-console',
      'console-url',
      'console-trusted-proxies',
      'data',
      'ledger',
      'ledger-sync',
      'max-body',
      'max-buffered',
      'max-running-jobs',
      'max-conversations',
      'max-conversation-bytes',
      'store-responses-days',
      'store-responses-bytes',
      'ping-after',
      'cors-origins',
      'gateway-namespace',
      'usage-labels',
      'log-level',
      'with-demo-provider',
      'first-port',
      'hello',
    ]);
    const unwrapped = run.stdout.replace(/\s+/g, ' ');
    for (const name of flags.filter((flag) => flag !== 'no-console'))
      assert.ok(unwrapped.includes(`env: MGW_${name?.replaceAll('-', '_').toUpperCase()})`), name);
    for (const initial of ['127.0.0.1:8080', '127.0.0.1:9090', '64MiB', 'model-gateway'])
      assert.ok(unwrapped.includes(`default: ${initial}`) || unwrapped.includes(`default: "${initial}"`), initial);
    assert.match(demo.stdout, /env:\s+MGW_LISTEN/);
  });

  it('prints the version', async () => {
    const { exitCode, stdout } = await mgw(['--version']);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  });
});

describe('npm start', () => {
  it("passes signals on to the gateway, since exec replaces npm's shell", () => {
    const scripts: Readonly<Record<string, string>> = manifest.scripts;
    for (const name of ['start', 'dev']) assert.match(scripts[name] ?? '', /^exec node /);
  });
});

describe('usage', () => {
  const wrong: [args: string[], said: RegExp, env?: Record<string, string>][] = [
    [[], /Usage: mgw/],
    [['frobnicate'], /unknown command 'frobnicate'/],
    [['operator', '--watch-namespaces', 'team-a,No Name'], /It must be the name of a namespace/],
    [['operator', '--insecure-xds', '--xds-listen', ':18000'], /only on a loopback address/],
    [['operator', '--ledger', 'file:x.db'], /a ledger file is open in one process only/],
    [['operator', '--usage-labels', 'cost-center,=x'], /"=x" is not the name of a label/],
    [['run', '--config', '.', '--usage-labels', 'a,b,c,d,e,f,g,h,i'], /At most 8 labels are allowed, not 9/],
    [['usage', '--by', 'colour'], /It must be key, account, namespace, group, model or label:NAME/],
    [['run'], /required option '--config <DIR>'/],
    [['run', '--config', '.', '--frob'], /unknown option '--frob'/],
    [['run', '--config', '.', 'more'], /too many arguments/],
    [
      ['run', '--config', '.', '--listen', '8080'],
      /'--listen <ADDRESS>' argument '8080' is invalid.*127\.0\.0\.1:8080/,
    ],
    [['run', '--config', '.', '--ledger', 'redis://host:port'], /needs a host, such as valkey:/],
    [['run', '--config', '.', '--ledger-sync', 'never'], /Allowed choices are normal, full/],
    [['run', '--config', '.'], /MGW_MAX_BODY.*a size such as 64MiB/, { MGW_MAX_BODY: 'huge' }],
    [['run', '--config', '.'], /MGW_LOG_LEVEL.*Allowed choices/, { MGW_LOG_LEVEL: 'loud' }],
    [['validate'], /missing required argument 'DIR'/],
    [['validate', '.', '--gateway-namespace', 'No Name'], /It must be the name of a namespace/],
    [['demo-provider', '--listen', '127.0.0.1:99999'], /It must be an address/],
  ];
  it('exits with 64 and reports what is wrong', async () => {
    for (const [args, said, env = {}] of wrong) {
      const { exitCode, stderr, stdout } = await mgw(args, { env });
      assert.equal(exitCode, 64, `${args.join(' ')}: ${stderr}`);
      assert.match(stderr, said);
      assert.equal(stdout, '');
      assert.doesNotMatch(stderr, /\n {4}at /);
    }
  });
});

describe('values', () => {
  const fails = (parse: () => unknown): void => assert.throws(parse, InvalidArgumentError);

  it('include addresses', () => {
    assert.deepEqual(parseAddress('127.0.0.1:8080'), { host: '127.0.0.1', port: 8080 });
    assert.deepEqual(parseAddress('[::1]:0'), { host: '::1', port: 0 });
    assert.deepEqual(parseAddress('gateway.local:65535'), { host: 'gateway.local', port: 65535 });
    assert.deepEqual(parseAddress(':80'), { host: '0.0.0.0', port: 80 });
    for (const text of [
      '',
      '8080',
      'host',
      'host:',
      'host:65536',
      '::1:80',
      'a b:1',
      'http://host:1',
      'host:-1',
      'host:1x',
    ])
      fails(() => parseAddress(text));
    assert.equal(urlOf({ host: '0.0.0.0', port: 80 }), 'http://127.0.0.1:80');
    assert.equal(urlOf({ host: '::1', port: 80 }), 'http://[::1]:80');
  });

  it('include sizes', () => {
    for (const [text, bytes] of [
      ['1', 1],
      ['64MiB', 67_108_864],
      ['10MB', 10_000_000],
      ['1gib', 1_073_741_824],
      ['5 kb', 5_000],
      ['7b', 7],
    ] as const)
      assert.equal(parseBytes(text), bytes);
    for (const text of ['', '0', '-1', '1.5MB', '64 potatoes', '2GiB', 'MiB', '1e9']) fails(() => parseBytes(text));
  });

  it('include ledgers', () => {
    assert.deepEqual(parseLedger('file:/var/lib/mgw/ledger.db'), { kind: 'file', path: '/var/lib/mgw/ledger.db' });
    assert.deepEqual(parseLedger('file:///var/lib/mgw/ledger.db'), { kind: 'file', path: '/var/lib/mgw/ledger.db' });
    assert.deepEqual(parseLedger('file:ledger.db'), { kind: 'file', path: 'ledger.db' });
    assert.deepEqual(parseLedger('valkeys://me:word@host'), { kind: 'valkey', url: 'valkeys://me:word@host' });
    for (const text of [
      '',
      'ledger.db',
      'file:',
      'valkey://',
      'rediss://host:port',
      'valkey://host?what=1',
      'postgres://host',
    ])
      fails(() => parseLedger(text));
  });

  it('include namespaces', () => {
    assert.equal(parseNamespace('model-gateway'), 'model-gateway');
    for (const text of ['', 'A', '-a', 'a-', 'a.b', 'a'.repeat(64)]) fails(() => parseNamespace(text));
  });

  it('treat an empty variable, and a switch that is off, as not set', () => {
    const env = { MGW_LISTEN: '', MGW_HELLO: 'false', MGW_CONFIG: 'x', OTHER: '', MGW_LEDGER_SYNC: 'no' };
    assert.deepEqual(withoutUnset(env, ['MGW_HELLO']), { MGW_CONFIG: 'x', OTHER: '', MGW_LEDGER_SYNC: 'no' });
    assert.deepEqual(withoutUnset({ MGW_HELLO: '1' }, ['MGW_HELLO']), { MGW_HELLO: '1' });
  });
});
