/**
 * The health of an object's states in GitOps tools: Argo CD by the health script of docs/examples/gitops, run by a real
 * Lua, and Flux by its own kstatus library and by the expressions of its Kustomization there. The golden file has one
 * line for each; GOLDEN=write rewrites it.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Environment } from '@marcbachmann/cel-js';
import { describe, it } from 'vitest';
import { parse } from 'yaml';
import { CONDITIONS, REASONS } from '#crds/conditions.ts';
import type { ConditionType, Reason } from '#crds/conditions.ts';
import type { Kind } from '#crds/types.gen.ts';
import { conditionsOf, mergeConditions } from '../../../operator/status/conditions.ts';
import type { DesiredCondition } from '../../../operator/status/conditions.ts';
import type { Findings } from '../../../operator/status/findings.ts';
import { programmingOf } from '../../../operator/status/programming.ts';
import { findKstatus, statusesOf } from '../../support/kube/kstatus.ts';
import { need } from '../../support/needs.ts';

const run = promisify(execFile);
const REPOSITORY = join(import.meta.dirname, '../../../docs/examples/gitops');
const GOLDEN = join(import.meta.dirname, 'testdata/health.out.txt');
const NOW_MS = Date.UTC(2026, 10, 21);
const HELD = { version: '1', connected: 3, acknowledged: 3, rejected: [], convergedMs: 14 };

interface State {
  readonly name: string;
  readonly object: {
    readonly kind: Kind;
    readonly metadata: {
      readonly generation: number;
    };
    readonly status?: {
      readonly conditions: readonly {
        readonly type: string;
        readonly status: string;
        readonly reason: string;
        readonly message: string;
      }[];
    };
  };
}

function state(
  name: string,
  kind: Kind,
  findings: Partial<Findings> = {},
  {
    progress = HELD,
    spent,
    warnings = [],
    seen = 2,
    signIn,
  }: {
    readonly progress?: Parameters<typeof programmingOf>[0];
    readonly spent?: 'LimitReached' | 'AccountLimitReached';
    readonly warnings?: readonly ConditionType[];
    readonly signIn?: 'True' | 'False';
    readonly seen?: number;
  } = {},
): State {
  const all: Findings = {
    kind,
    namespace: 'team-a',
    name: 'it',
    uid: '1',
    generation: 2,
    fields: {},
    published: true,
    ...findings,
  };
  const desired = conditionsOf(all, programmingOf(progress), spent && { reason: spent, message: REASONS[spent] });
  const warned = warnings.map((type) => ({
    type,
    status: 'True' as const,
    reason: CONDITIONS[type].reasons[0],
    message: CONDITIONS[type].meaning,
  }));
  const signedIn = signIn ? [signInCondition(signIn)] : [];
  const conditions = mergeConditions([], [...desired, ...signedIn, ...warned], { generation: seen, nowMs: NOW_MS });
  return {
    name,
    object: {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind,
      metadata: {
        name: 'it',
        namespace: 'team-a',
        generation: 2,
      },
      spec: {},
      status: { observedGeneration: seen, conditions },
    } as State['object'],
  };
}

function signInCondition(status: 'True' | 'False'): DesiredCondition {
  const reason = status === 'True' ? 'SignedIn' : 'TokenRefused';
  return { type: 'CredentialReady', status, reason, message: REASONS[reason] };
}

const refused = (reason: Reason): Partial<Findings> => ({
  refused: { reason, message: REASONS[reason] } as NonNullable<Findings['refused']>,
});
const notReady = (reason: Reason): Partial<Findings> => ({
  notReady: { reason, message: REASONS[reason] } as NonNullable<Findings['notReady']>,
});

/** Every condition and every reason that makes an object not Ready, for a kind that can have it. */
function states(): State[] {
  const kindOf = (type: ConditionType, reason: Reason): Kind =>
    reason.startsWith('Member') ||
    reason.startsWith('Route') ||
    reason === 'ModelNotFound' ||
    reason === 'ChannelNotFound'
      ? 'Group'
      : reason === 'Conflicted'
        ? 'PriceCatalog'
        : (CONDITIONS[type].kinds as readonly Kind[]).includes('ApiKey')
          ? 'ApiKey'
          : CONDITIONS[type].kinds[0];
  const stalled = CONDITIONS.Stalled.reasons.filter((reason) => reason !== 'Rejected');
  return [
    {
      name: 'new',
      object: {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'ApiKey',
        metadata: { name: 'it', namespace: 'team-a', generation: 1 },
        spec: {},
      } as State['object'],
    },
    ...(['Account', 'ApiKey', 'Group', 'ModelRoute', 'PriceCatalog'] as const).map((kind) =>
      state(`in force: ${kind}`, kind),
    ),
    state('edited, not seen yet', 'Group', {}, { seen: 1 }),
    state('on its way', 'Group', {}, { progress: { ...HELD, acknowledged: 1 } }),
    state('no proxy', 'Group', {}, { progress: { ...HELD, connected: 0, acknowledged: 0 } }),
    state('a proxy is not connected', 'Group', {}, { progress: { ...HELD, missing: ['proxy-4'] } }),
    state(
      'a proxy refuses it',
      'Group',
      {},
      { progress: { ...HELD, rejected: [{ proxy: 'proxy-1', message: 'no' }] } },
    ),
    state('its Secret is awaited', 'ApiKey', notReady('SecretPending')),
    ...stalled.map((reason) => state(`refused: ${reason}`, kindOf('Stalled', reason), refused(reason))),
    state('a Secret is missing', 'ModelRoute', {
      unresolved: {
        reason: 'SecretNotFound',
        message: REASONS.SecretNotFound,
      },
    }),
    ...(['Disabled', 'Expired'] as const).map((reason) => state(`out of use: ${reason}`, 'ApiKey', notReady(reason))),
    state('out of use: spent', 'ApiKey', {}, { spent: 'LimitReached', warnings: ['QuotaExhausted'] }),
    state('out of use: its Account is spent', 'ApiKey', {}, { spent: 'AccountLimitReached' }),
    state("a cloud's sign-in works", 'ModelRoute', {}, { signIn: 'True' }),
    state("a cloud's sign-in fails", 'ModelRoute', {}, { signIn: 'False' }),
    ...(Object.keys(CONDITIONS) as ConditionType[])
      .filter((type) => 'onlyWhileTrue' in CONDITIONS[type] && type !== 'Reconciling' && type !== 'Stalled')
      .map((type) => state(`warning: ${type}`, CONDITIONS[type].kinds[0], {}, { warnings: [type] })),
  ];
}

/** A value as a Lua expression. */
function lua(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(lua).join(', ')}}`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([key, each]) => `[${lua(key)}] = ${lua(each)}`)
      .join(', ')}}`;
  return typeof value === 'string' ? `"${value.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"` : String(value);
}

async function argoHealth(path: string, script: string, objects: readonly unknown[]): Promise<string[]> {
  const program = `local function health(obj)\n${script}\nend\n${objects
    .map((object) => `do local h = health(${lua(object)}) print(h.status .. ": " .. (h.message or "")) end`)
    .join('\n')}\n`;
  const { stdout } = await run(path, ['-e', program]);
  return stdout.trimEnd().split('\n');
}

/** Evaluates the expressions in Flux's order. */
function byExpressions(
  { current, failed, inProgress }: Readonly<Record<string, string>>,
  { metadata, status }: State['object'],
): string {
  const cel = new Environment({ unlistedVariablesAreDyn: true });
  const holds = (expression = 'false'): boolean =>
    status !== undefined && cel.evaluate(expression, { metadata, status }) === true;
  if (holds(inProgress)) return 'InProgress';
  return holds(failed) ? 'Failed' : holds(current) ? 'Current' : 'InProgress';
}

const luaProgram = await need('lua');
const kstatus = luaProgram.skip ? { missing: luaProgram.skip } : await findKstatus(process.env);
if ('missing' in kstatus && process.env['CI'] === 'true') throw new Error(kstatus.missing);

describe.skipIf('missing' in kstatus)('the health that GitOps tools show', () => {
  const all = states();

  it('is right for every state', async () => {
    assert.ok('path' in kstatus);
    const config = parse(
      parse(await readFile(join(REPOSITORY, 'argocd/argocd-cm.yaml'), 'utf8')).data['resource.customizations'],
    );
    const argo = await argoHealth(
      luaProgram.path,
      config['modelgateway.dev/*']['health.lua'],
      all.map(({ object }) => object),
    );
    const flux = await statusesOf(
      kstatus.path,
      all.map(({ object }) => object),
    );
    const {
      spec: { healthCheckExprs },
    } = parse(await readFile(join(REPOSITORY, 'flux/models.yaml'), 'utf8'));
    const lines = all.map(({ name, object }, index) =>
      [
        name.padEnd(32),
        `Argo CD ${argo[index]?.split(':')[0]}`.padEnd(20),
        `Flux ${flux[index]?.split(' ')[0]}`.padEnd(17),
        byExpressions(
          healthCheckExprs.find(({ kind }: { kind: Kind }) => kind === object.kind),
          object,
        ).padEnd(12),
        argo[index]?.replace(/^\w+: /, ''),
      ]
        .join(' ')
        .trimEnd(),
    );
    const text = `${['state'.padEnd(32), 'Argo CD'.padEnd(20), 'Flux, by itself'.padEnd(17), 'with exprs'.padEnd(12), 'what Argo CD shows'].join(' ')}\n${lines.join('\n')}\n`;
    if (process.env['GOLDEN'] === 'write') await writeFile(GOLDEN, text);
    assert.equal(text, await readFile(GOLDEN, 'utf8').catch(() => ''), 'GOLDEN=write rewrites it');
  });

  it('covers every state', () => {
    const seen = new Set(all.flatMap(({ object }) => object.status?.conditions.map(({ type }) => type) ?? []));
    assert.deepEqual(
      Object.keys(CONDITIONS).filter((type) => !seen.has(type)),
      [],
    );
    const reasons = new Set(
      all.flatMap(
        ({ object }) =>
          object.status?.conditions.filter(({ type }) => type === 'Stalled').map(({ reason }) => reason) ?? [],
      ),
    );
    assert.deepEqual(
      CONDITIONS.Stalled.reasons.filter((reason) => !reasons.has(reason)),
      ['SecretPending'],
      'which is said by Reconciling',
    );
  });
});
