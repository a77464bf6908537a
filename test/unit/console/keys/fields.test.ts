/** The form of a key, without pages: input → a spec, a patch of the differences, and concurrent edits. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import type { SchemaNode } from '#crds/kind-schema.ts';
import { loadApiKindsSync } from '#crds/load.ts';
import type { ApiKey, ApiKeySpec, RateLimits } from '#crds/types.gen.ts';
import { AccessError } from '../../../../console/access/access.ts';
import {
  errorsOfRefusal,
  formOfKey,
  mergeForms,
  newKeyForm,
  patchOfForm,
  readBase,
  readKeyForm,
  specOfForm,
  textsOfForm,
  writeBase,
} from '../../../../console/keys/key-form.ts';
import { KEY_ROWS } from '../../../../console/keys/fields.ts';
import type { KeyForm } from '../../../../console/keys/fields.ts';
import { timeOfInput, utcInput } from '../../../../console/keys/times.ts';

const SPEC: ApiKeySpec = {
  gatewayNamespace: 'model-gateway',
  enabled: true,
  groupRef: { name: 'auto-a' },
  accountRef: { name: 'team-a' },
  quota: { limitUsd: '25.00', period: 'Monthly', timeZone: 'UTC', whenShort: 'Lower', minOutputTokens: 16 },
  expirationTime: '2027-01-01T01:00:00+01:00',
  models: ['b', 'a'],
  maxConcurrency: 8,
  rateLimits: { requestsPerMinute: 60, inputTokensPerMinute: 100_000 },
  key: { type: 'Generated', rotation: 3, overlapSeconds: 60, secretRef: { name: 'own' } },
};

function keyOf(spec: Partial<ApiKeySpec> = {}): ApiKey {
  return {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: { namespace: 'team-a', name: 'ci', uid: 'u', generation: 4 },
    spec: { ...SPEC, ...spec },
  };
}

const patch = (form: KeyForm, live = keyOf()) => patchOfForm(form, live);
const FORM = formOfKey(keyOf());

/** The paths of a schema's values, down to lists and plain values. */
function leavesOf(path: string, { properties }: SchemaNode): string[] {
  return properties
    ? Object.entries(properties).flatMap(([name, schema]) => leavesOf(`${path}.${name}`, schema))
    : [path];
}

describe('the table of fields', () => {
  it('has every field of a spec that people can set, with a label of its own', () => {
    const UNASKED = [
      'spec.gatewayNamespace',
      'spec.quota.minOutputTokens',
      'spec.key.rotation',
      'spec.key.overlapSeconds',
    ];
    const { spec } = loadApiKindsSync().get('ApiKey')?.root.properties ?? {};
    const known = KEY_ROWS.map(({ path }) => path);
    assert.ok(spec);
    const unknown = leavesOf('spec', spec).filter((path) => !known.some((place) => `${path}.`.startsWith(`${place}.`)));
    assert.deepEqual(unknown.toSorted(), UNASKED.toSorted());
    assert.equal(new Set(KEY_ROWS.map(({ label }) => label)).size, KEY_ROWS.length);
  });
  it('has UTC where an API server knows no time zones of quotas, and leaves it so', () => {
    const { timeZone: _, ...quota } = SPEC.quota;
    const old = keyOf({ quota: quota as ApiKeySpec['quota'] });
    assert.equal(formOfKey(old).timeZone, 'UTC');
    assert.deepEqual(patch({ ...formOfKey(old), period: 'Daily' }, old), { value: { quota: { period: 'Daily' } } });
  });
  it('writes what it reads of a key', () => {
    const { metadata, spec } = keyOf({ key: { ...SPEC.key, rotation: 1, overlapSeconds: 0 } });
    const written = specOfForm(formOfKey({ ...keyOf(), metadata, spec }), 'model-gateway').value;
    assert.deepEqual(written, { ...spec, expirationTime: '2027-01-01T00:00:00Z' });
  });
});

describe('the form of a new key', () => {
  const typed = {
    namespace: 'team-a',
    name: ' ci ',
    group: 'auto-a',
    account: 'team-a',
    enabled: 'true',
    quota: 'Unlimited',
    limitUsd: 'ignored',
    period: 'Never',
    timeZone: 'UTC',
    whenShort: 'Lower',
    allowed: 'All',
    keyType: 'Generated',
  };
  const specOf = (changes: Record<string, string>) => specOfForm(readKeyForm({ ...typed, ...changes }), 'gw');

  it('becomes a spec with only the values that were typed', () => {
    assert.equal(readKeyForm(typed).name, 'ci');
    assert.deepEqual(specOf({}).value, {
      gatewayNamespace: 'gw',
      enabled: true,
      groupRef: { name: 'auto-a' },
      accountRef: { name: 'team-a' },
      quota: {
        limitUsd: 'Unlimited',
        period: 'Never',
        timeZone: 'UTC',
        whenShort: 'Lower',
        minOutputTokens: 16,
      },
      key: { type: 'Generated', rotation: 1, overlapSeconds: 0 },
    });
  });
  it('leaves to the API what only the API can validate', () => {
    const { value } = specOf({
      quota: 'Limited',
      limitUsd: '12,50',
      expires: 'whenever',
      allowed: 'Some',
      maxConcurrency: '-1',
      outputTokensPerMinute: '0',
      keyType: 'Provided',
      secret: 'Not A Name',
    });
    assert.deepEqual(
      [value?.quota.limitUsd, value?.expirationTime, value?.models, value?.maxConcurrency, value?.key.secretRef],
      ['12,50', 'whenever', [], -1, { name: 'Not A Name' }],
    );
    assert.deepEqual(value?.rateLimits, { outputTokensPerMinute: 0 });
  });
  it('reports all mistakes at once, each at its field', () => {
    const { errors } = specOf({
      quota: 'Limited',
      limitUsd: '',
      period: 'Hourly',
      maxConcurrency: 'many',
      requestsPerMinute: '1.5',
      inputTokensPerMinute: '5',
      keyType: 'Stolen',
    });
    assert.deepEqual(
      errors?.map(({ field }) => field),
      ['limitUsd', 'period', 'maxConcurrency', 'requestsPerMinute', 'keyType'],
    );
  });
  it('accepts models from checkboxes and lines, each once', () => {
    const posted = { model: ['a', 'b'], models: [' b \r\n\r\nc'] };
    assert.deepEqual(readKeyForm(posted).models, ['a', 'b', 'c']);
  });
  it('ignores fields that no form has', () => {
    const posted = {
      ...typed,
      gatewayNamespace: 'other',
      rotation: '9',
      'key.type': 'Provided',
      uid: 'x',
      ['__proto__']: 'x',
    };
    assert.deepEqual(readKeyForm(posted), readKeyForm(typed));
  });
  it('is empty at first', () => {
    assert.deepEqual(specOfForm({ ...newKeyForm('team-a'), group: 'g', account: 'a' }, 'gw').value?.quota, {
      limitUsd: 'Unlimited',
      period: 'Never',
      timeZone: 'UTC',
      whenShort: 'Lower',
      minOutputTokens: 16,
    });
  });
});

describe('times', () => {
  it('are shown in UTC, as precisely as needed', () => {
    for (const [time, input] of [
      ['2027-01-01T01:00:00+01:00', '2027-01-01T00:00'],
      ['2027-01-01T00:00:30Z', '2027-01-01T00:00:30'],
      ['2027-01-01T00:00:00.250Z', '2027-01-01T00:00:00.25'],
      ['soon', 'soon'],
    ] as const)
      assert.equal(utcInput(time), input);
  });
  it('are parsed to RFC 3339 in UTC; invalid ones are returned unchanged', () => {
    for (const [input, time] of [
      ['2027-01-01T00:00', '2027-01-01T00:00:00Z'],
      ['2027-01-01T00:00:30', '2027-01-01T00:00:30Z'],
      ['2027-01-01', '2027-01-01'],
      ['2027-01-01T00:00:00Z', '2027-01-01T00:00:00Z'],
    ] as const)
      assert.equal(timeOfInput(input), time);
  });
});

describe('an edit', () => {
  it('that changes nothing patches nothing, whatever the order of models or the precision of times', () => {
    assert.deepEqual(patch(FORM), { value: undefined });
    assert.deepEqual(patch({ ...FORM, models: ['a', 'b'], expires: '2027-01-01T00:00:00' }), { value: undefined });
  });
  it('patches only the field that differs', () => {
    for (const [changes, spec] of [
      [{ enabled: false }, { enabled: false }],
      [{ group: 'vip' }, { groupRef: { name: 'vip' } }],
      [{ limited: false }, { quota: { limitUsd: 'Unlimited' } }],
      [{ limitUsd: '30', period: 'Daily' }, { quota: { limitUsd: '30', period: 'Daily' } }],
      [{ whenShort: 'Refuse' }, { quota: { whenShort: 'Refuse' } }],
      [{ expires: '' }, { expirationTime: null }],
      [{ expires: '2028-02-29T12:30' }, { expirationTime: '2028-02-29T12:30:00Z' }],
      [{ restricted: false }, { models: null }],
      [{ models: ['a'] }, { models: ['a'] }],
      [{ maxConcurrency: '' }, { maxConcurrency: null }],
      [{ maxConcurrency: '9' }, { maxConcurrency: 9 }],
      [{ requestsPerMinute: '' }, { rateLimits: { requestsPerMinute: null } }],
      [
        { requestsPerMinute: '', outputTokensPerMinute: '5' },
        { rateLimits: { requestsPerMinute: null, outputTokensPerMinute: 5 } },
      ],
      [{ requestsPerMinute: '', inputTokensPerMinute: '' }, { rateLimits: null }],
    ] as const)
      assert.deepEqual(patch({ ...FORM, ...changes }), { value: spec }, JSON.stringify(changes));
  });
  it('leaves the rest as it is if an unchanged field is invalid, such as a zone that no time zone database has', () => {
    const live = keyOf({ quota: { ...SPEC.quota, timeZone: 'Europe/Nowhere' } });
    for (const [changes, spec] of [
      [{ enabled: false }, { enabled: false }],
      [{ group: 'vip' }, { groupRef: { name: 'vip' } }],
      [{ limitUsd: '5' }, { quota: { limitUsd: '5' } }],
      [{ whenShort: 'Refuse' }, { quota: { whenShort: 'Refuse' } }],
      [{ timeZone: 'Europe/Berlin' }, { quota: { timeZone: 'Europe/Berlin' } }],
      [{ models: ['a'] }, { models: ['a'] }],
      [{ models: [] }, { models: [] }],
      [{ expires: '2028-02-29T12:30' }, { expirationTime: '2028-02-29T12:30:00Z' }],
      [{ maxConcurrency: '2' }, { maxConcurrency: 2 }],
      [{ outputTokensPerMinute: '5' }, { rateLimits: { outputTokensPerMinute: 5 } }],
      [{ requestsPerMinute: '', inputTokensPerMinute: '' }, { rateLimits: null }],
    ] as const)
      assert.deepEqual(patch({ ...formOfKey(live), ...changes }, live), { value: spec }, JSON.stringify(changes));
  });
  it('keeps what a part has besides the fields of this form', () => {
    const live = keyOf({ rateLimits: { requestsPerMinute: 60, imagesPerMinute: 5 } as RateLimits });
    assert.deepEqual(patch({ ...formOfKey(live), requestsPerMinute: '' }, live), {
      value: { rateLimits: { requestsPerMinute: null } },
    });
  });
  it('reports a mistake once, and only in fields that differ', () => {
    assert.deepEqual(
      patch({ ...FORM, period: 'x', whenShort: 'y' }).errors?.map(({ field }) => field),
      ['period', 'whenShort'],
    );
    assert.deepEqual(
      patch({ ...FORM, limitUsd: '' }).errors?.map(({ field }) => field),
      ['limitUsd'],
    );
  });
});

describe('two people who edit one key', () => {
  const base = readBase(writeBase(FORM));

  it('keep the base in the form', () => {
    assert.deepEqual(base, textsOfForm(FORM));
    const strange = formOfKey(keyOf({ models: ['"<ü\u202E\u0001', '😀'] }));
    assert.match(writeBase(strange), /^[\x20-\x7e]*$/);
    assert.deepEqual(readBase(writeBase(strange)), textsOfForm(strange));
  });
  it('are not affected by a forged base', () => {
    for (const posted of ['', '{', 'null', '[]', '"x"', '{"enabled":1,"__proto__":"x","group":["a"],"other":"x"}'])
      assert.deepEqual(readBase(posted), {}, posted);
  });
  it("edit different fields: both changes are in the form, and the other's is shown", () => {
    const live = formOfKey(keyOf({ groupRef: { name: 'vip' } }));
    const { form, others } = mergeForms(base, { ...FORM, limitUsd: '30' }, live);
    assert.deepEqual([form.group, form.limitUsd], ['vip', '30']);
    assert.deepEqual(others, [{ field: 'group', was: 'auto-a', now: 'vip', typed: undefined }]);
  });
  it("edit the same field: the typed value stays, with the other's beside it", () => {
    const live = formOfKey(keyOf({ quota: { ...SPEC.quota, limitUsd: '50' } }));
    const { form, others } = mergeForms(base, { ...FORM, limitUsd: '30' }, live);
    assert.equal(form.limitUsd, '30');
    assert.deepEqual(others, [{ field: 'limitUsd', was: '25.00', now: '50', typed: '30' }]);
  });
  it('make the same change without a conflict', () => {
    const live = formOfKey(keyOf({ enabled: false }));
    assert.deepEqual(mergeForms(base, { ...FORM, enabled: false }, live).others, [
      {
        field: 'enabled',
        was: 'Yes',
        now: 'No',
        typed: undefined,
      },
    ]);
  });
  it('see every difference without a base, and keep what was typed', () => {
    const live = formOfKey(keyOf({ enabled: false }));
    const { form, others } = mergeForms({}, FORM, live);
    assert.equal(form.enabled, true);
    assert.deepEqual(others, [{ field: 'enabled', was: undefined, now: 'No', typed: 'Yes' }]);
  });
  it('never lose a value: each field is theirs or mine', () => {
    const change = fc.record({
      enabled: fc.boolean(),
      group: fc.constantFrom('auto-a', 'vip', 'x'),
      limitUsd: fc.constantFrom('25.00', '30', '40'),
      maxConcurrency: fc.constantFrom('', '8', '9'),
      requestsPerMinute: fc.constantFrom('', '60', '70'),
    });
    const fields = ['enabled', 'group', 'limitUsd', 'maxConcurrency', 'requestsPerMinute'] as const;
    fc.assert(
      fc.property(change, change, (mine, theirs) => {
        const live = { ...FORM, ...theirs };
        const { form, others } = mergeForms(base, { ...FORM, ...mine }, live);
        for (const field of fields) {
          assert.equal(form[field], mine[field] === FORM[field] ? live[field] : mine[field], field);
        }
        const changed = fields.filter((field) => theirs[field] !== FORM[field]).length;
        assert.equal(others.length, changed);
      }),
    );
  });
});

describe('an error of the API', () => {
  const refusal = (paths: readonly string[]) =>
    new AccessError('Invalid', 'no', { fields: paths.map((path) => ({ path, message: `m of ${path}` })) });

  it("is shown at its field, in the API's words", () => {
    assert.deepEqual(
      errorsOfRefusal(
        refusal([
          'spec.quota.limitUsd',
          'spec.models[0]',
          'spec.groupRef.name',
          'metadata.name',
          'spec.expirationTime',
          'spec.rateLimits.inputTokensPerMinute',
        ]),
        ['limitUsd', 'models', 'group', 'name', 'expires', 'inputTokensPerMinute'],
      ).map(({ field, message }) => [field, message]),
      [
        ['limitUsd', 'm of spec.quota.limitUsd'],
        ['models', 'm of spec.models[0]'],
        ['group', 'm of spec.groupRef.name'],
        ['name', 'm of metadata.name'],
        ['expires', 'm of spec.expirationTime'],
        ['inputTokensPerMinute', 'm of spec.rateLimits.inputTokensPerMinute'],
      ],
    );
  });
  it('is shown at the top with its path if the form has no such field', () => {
    assert.deepEqual(
      errorsOfRefusal(refusal(['spec.key.rotation', 'metadata.name', '', 'spec.modelsX']), ['models']),
      [
        'spec.key.rotation: m of spec.key.rotation',
        'metadata.name: m of metadata.name',
        'm of ',
        'spec.modelsX: m of spec.modelsX',
      ].map((message) => ({ field: undefined, message })),
    );
  });
  it('is shown as a whole without fields; a name that is taken is shown at the name', () => {
    assert.deepEqual(errorsOfRefusal(new AccessError('Forbidden', 'You may not.'), ['name']), [
      { field: undefined, message: 'You may not.' },
    ]);
    assert.deepEqual(errorsOfRefusal(new AccessError('AlreadyExists', 'Taken.'), ['name']), [
      { field: 'name', message: 'Taken.' },
    ]);
  });
});
