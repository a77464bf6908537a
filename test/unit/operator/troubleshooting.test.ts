/**
 * docs/guides/troubleshooting.md: each mistake is applied to a gateway that is all right, and the status says what the page
 * says.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { REASONS } from '#crds/conditions.ts';
import { KubeError, explainKubeError } from '#kube/errors.ts';
import { findUnserved } from '../../../operator/reconcile/unserved-objects.ts';
import { PROGRAMMED, conditionsOf } from '../../../operator/status/conditions.ts';
import { programmingOf } from '../../../operator/status/programming.ts';
import { refusalConditions } from '../../../operator/status/refusals.ts';
import { accountLimitFinding } from '../../../operator/status/spending.ts';
import { translate } from '../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from './support.ts';

const PAGE = new URL('../../../docs/guides/troubleshooting.md', import.meta.url);
const CREATED = '2026-11-01T00:00:00Z';
const BASE = `
kind: Secret
metadata: {name: openai}
stringData: {apiKey: provider-credential}
---
kind: ModelRoute
metadata: {name: openai}
spec:
  models: [{name: gpt-4o-mini, contextTokens: 128000, maxOutputTokens: 16384}]
  channels: [{name: direct, protocol: OpenAI, baseUrl: "https://api.openai.com/v1",
    auth: {type: ApiKey, secretRef: {name: openai, key: apiKey}}}]
---
kind: PriceCatalog
metadata: {name: prices, creationTimestamp: "2026-10-01T00:00:00Z"}
spec: {models: [{name: gpt-4o-mini, vendor: OpenAI, quotaType: Token, modelRatio: "0.075"}]}
---
kind: Group
metadata: {name: standard}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
---
kind: Account
metadata: {name: team-a, namespace: team-a}
spec: {grants: [{name: first, usd: "10"}]}
---
kind: Secret
metadata: {name: ci-key, namespace: team-a, labels: {modelgateway.dev/api-key: ci}}
stringData: {apiKey: sk-0123456789012345678901234567890123456789}
---
kind: Secret
metadata: {name: database, namespace: team-a}
stringData: {password: something}
---
kind: ApiKey
metadata: {name: ci, namespace: team-a}
spec: {groupRef: {name: standard}, accountRef: {name: team-a}, key: {type: Provided}}
`;

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The gateway with one more object, which replaces the one of its name, as a folder's YAML. */
function sceneWith(mistake: Manifest | undefined): string {
  const all = parseAllDocuments(BASE).map((document) => document.toJS() as Manifest);
  const isOther = ({ kind, metadata: { name } }: Manifest): boolean =>
    kind !== mistake?.kind || name !== mistake.metadata.name;
  return [...all.filter(isOther), ...(mistake ? [mistake] : [])]
    .map((object) =>
      JSON.stringify({
        apiVersion: object.kind === 'Secret' ? 'v1' : 'modelgateway.dev/v1alpha1',
        ...object,
        metadata: { creationTimestamp: CREATED, ...object.metadata },
      }),
    )
    .join('\n---\n');
}

/** "Kind name: Type=Status Reason" and the message, of everything that the operator says. */
function saidOf(mistake: Manifest | undefined): readonly string[] {
  const resources = resourcesOf(sceneWith(mistake));
  const { statuses } = translate(resources, { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
  const unserved = findUnserved(resources, {
    gatewayNamespace: GATEWAY_NAMESPACE,
    nowMs: NOW_MS,
    observedGeneration: () => undefined,
  });
  return [
    ...statuses.flatMap((findings) =>
      conditionsOf(findings, PROGRAMMED).map(
        ({ type, status, reason, message }) =>
          `${findings.kind} ${findings.name}: ${type}=${status} ${reason}\n${message}`,
      ),
    ),
    ...unserved.map(({ id, message }) => `${id.replace(/ .*\//, ' ')}: Event GatewayNotServed\n${message}`),
  ];
}

/** What is said without an edit of an object. */
function saidAnyway(): readonly string[] {
  const refusal = { channel: 'direct', status: 0, atMs: NOW_MS };
  const refusals = [
    ...['ENOTFOUND', 'ECONNREFUSED', 'CERT_HAS_EXPIRED', 'PROXY_407'].map((connectError) => ({
      ...refusal,
      connectError,
    })),
    { ...refusal, status: 307 },
    { ...refusal, status: 401 },
  ];
  const terminating = new KubeError('forbidden', {
    status: 403,
    causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace', message: 'it ends' }],
  });
  const cutOff = { version: '2', connected: 1, acknowledged: 1, rejected: [], convergedMs: 14 };
  const waiting = programmingOf({ ...cutOff, missing: ['model-gateway-x'] });
  return [
    ...refusals.flatMap((each) =>
      refusalConditions([each]).map(
        ({ type, status, reason, message }) => `ModelRoute openai: ${type}=${status} ${reason}\n${message}`,
      ),
    ),
    `ApiKey ci: Ready=${waiting.status} ${waiting.reason}\n${waiting.message}`,
    `ApiKey ci: Ready=False AccountLimitReached\n${accountLimitFinding('team-a', [{ type: 'BalanceExhausted' }])?.message}`,
    `ApiKey ci: write refused\n${explainKubeError(terminating)}`,
    `ApiKey ci: Ready=Unknown GatewayRemoved\n${REASONS.GatewayRemoved}`,
  ];
}

/** The blocks of a section, each with its message on one line. */
function expectedIn(section: string): string[] {
  return [...section.matchAll(/```text\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block
      .trim()
      .split(/\n(?=[A-Z]\w+ [\w-]+: )/)
      .map((each) => {
        const [head, ...message] = each.split('\n');
        return `${head}\n${message.join(' ')}`;
      }),
  );
}

const sections = readFileSync(PAGE, 'utf8')
  .split(/^#{2,3} /m)
  .slice(1);

describe('docs/guides/troubleshooting.md', () => {
  it('begins with a gateway that is all right', () => {
    const heads = saidOf(undefined).map((text) => text.split('\n')[0] ?? '');
    assert.equal(heads.filter((head) => head.endsWith(': Ready=True Ready')).length, 5);
    assert.deepEqual(
      heads.filter((head) => !/=True (?:Ready|Accepted|Programmed|ResolvedRefs)$/.test(head)),
      [],
    );
  });

  const withText = sections.filter((section) => section.includes('```text'));
  it('shows at least twenty mistakes', () => assert.ok(withText.length >= 20, String(withText.length)));

  for (const section of withText)
    it(section.split('\n')[0] ?? '', () => {
      const [, yaml] = /```yaml\n([\s\S]*?)```/.exec(section) ?? [];
      const said = yaml === undefined ? saidAnyway() : saidOf(parse(yaml) as Manifest);
      for (const expected of expectedIn(section))
        assert.ok(said.includes(expected), `${expected}\n\nsaid instead:\n${said.join('\n')}`);
    });
});
