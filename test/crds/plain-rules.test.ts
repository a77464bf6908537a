/** Rules that are judged without CEL are judged as CEL does. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Environment } from '@marcbachmann/cel-js';
import fc from 'fast-check';
import type { Json } from '#crds/json.ts';
import type { SchemaNode } from '#crds/kind-schema.ts';
import { loadApiKinds } from '#crds/load.ts';
import { plainRule } from '#crds/plain-rules.ts';

const environment = new Environment().registerVariable('self', 'dyn');

function rulesOf(node: SchemaNode): string[] {
  const below = [...Object.values(node.properties ?? {}), ...node.items ? [node.items] : []];
  return [...(node['x-kubernetes-validations'] ?? []).map(({ rule }) => rule), ...below.flatMap(rulesOf)];
}

function celHolds(rule: string, self: Json): boolean {
  try {
    return environment.parse(rule)({ self }) === true;
  } catch {
    return false;
  }
}

const ALL = [...new Set([...(await loadApiKinds()).values()].flatMap(({ root }) => rulesOf(root)))];
const PLAIN = ALL.flatMap((rule) => {
  const certainlyHolds = plainRule(rule);
  return certainlyHolds ? [{ rule, certainlyHolds }] : [];
});

const NAME = fc.oneof(fc.stringMatching(/^[a-z0-9.-]{0,70}$/), fc.string({ unit: 'grapheme', maxLength: 70 }));
const VALUES: fc.Arbitrary<Json> = fc.oneof(
  NAME, fc.stringMatching(/^-?[0-9]{0,11}([.][0-9]{0,10})?$/), fc.constantFrom('Unlimited', '9000000000', '9000000000.1', 'a\n', '\na', '', 'https://a.example/v1', ' a', 'a ', null, 1, true),
  NAME.map((name) => ({ metadata: { name } })), fc.constantFrom({}, { metadata: null }, { metadata: {} }, { metadata: { name: 1 } }, ['a']),
);

describe('rules judged without CEL', () => {
  it('are those that most keys are asked about', () => {
    assert.ok(PLAIN.length >= 8, PLAIN.map(({ rule }) => rule).join('\n'));
    assert.ok(PLAIN.some(({ rule }) => rule.startsWith('size(')));
    assert.ok(PLAIN.some(({ rule }) => rule.startsWith('self == \'Unlimited\'')));
    for (const rule of ['self == oldSelf', '!self.matches(\'a\')', 'self.baseUrl.matches(\'a\')', 'self.matches(\'a\\\\d\')', 'self.matches(\'a\') || true', 'size(self.name) <= 3']) assert.equal(plainRule(rule), undefined, rule);
  });

  it('hold where CEL says so, and nowhere else', () => {
    const seen = new Map<string, Set<boolean>>();
    fc.assert(fc.property(fc.constantFrom(...PLAIN), VALUES, ({ rule, certainlyHolds }, value) => {
      const holds = certainlyHolds(value);
      const cel = celHolds(rule, value);
      if (holds) assert.ok(cel, `${rule} of ${JSON.stringify(value)}`);
      if (typeof value === 'string') assert.equal(holds, cel, `${rule} of ${JSON.stringify(value)}`);
      seen.set(rule, (seen.get(rule) ?? new Set()).add(holds));
    }), { numRuns: 5000 });
    for (const { rule } of PLAIN) assert.equal(seen.get(rule)?.size, 2, `${rule} was seen to hold and not to hold`);
  });
});
