/** Errors of the API server, in words for the person. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { accessErrorOf } from '../../../../console/access/kube-errors.ts';
import { KubeError, KubeUnreachable } from '#kube/errors.ts';

interface Case {
  readonly status: number;
  readonly reason?: string;
  readonly words: string;
  readonly causes?: readonly { readonly field: string; readonly message: string }[];
  /** The error, and its fields as "path: message". */
  readonly says: readonly [fault: string, ...fields: string[]];
  readonly message?: RegExp;
}

const CASES: Readonly<Record<string, Case>> = {
  'a token that is not valid': { status: 401, words: 'Unauthorized', says: ['SignedOut'], message: /Sign in again/ },
  'a missing right': {
    status: 403,
    reason: 'Forbidden',
    words: 'apikeys is forbidden: User "anna" cannot list',
    says: ['Forbidden'],
    message: /^apikeys is forbidden: User "anna" cannot list$/,
  },
  "a webhook's denial": {
    status: 403,
    words: 'admission webhook "policy.example" denied the request: no keys on Fridays',
    says: ['Invalid', ': no keys on Fridays'],
  },
  "a webhook's denial without words": {
    status: 400,
    words: 'admission webhook "policy.example" denied the request without explanation',
    says: ['Invalid', ': admission webhook "policy.example" denied the request without explanation'],
  },
  "a policy's denial": {
    status: 422,
    reason: 'Invalid',
    words:
      'apikeys.modelgateway.dev "x" is forbidden: ValidatingAdmissionPolicy ' +
      "'p' with binding 'b' denied request: too dear",
    causes: [{ field: '', message: 'ValidatingAdmissionPolicy…' }],
    says: ['Invalid', ': too dear'],
  },
  "a schema's fault": {
    status: 422,
    reason: 'Invalid',
    words: 'ApiKey "x" is invalid',
    causes: [
      {
        field: 'spec.quota.limitUsd',
        message: 'Invalid value: "a \\"b\\": c": must be a decimal',
      },
      { field: 'spec.models', message: 'Required value' },
    ],
    says: ['Invalid', 'spec.quota.limitUsd: must be a decimal', 'spec.models: Required value'],
  },
  "a rule's fault": {
    status: 422,
    words: 'ApiKey "x" is invalid',
    causes: [
      {
        field: '<nil>',
        message: 'Invalid value: "object": at most 63 characters',
      },
    ],
    says: ['Invalid', ': at most 63 characters'],
  },
  'an unknown field': {
    status: 400,
    words: 'strict decoding error: unknown field "spec.limit"',
    causes: [
      {
        field: 'patch',
        message: 'strict decoding error',
      },
    ],
    says: ['Invalid', 'spec.limit: strict decoding error: unknown field "spec.limit"'],
  },
  'something that is not there': { status: 404, words: 'namespaces "x" not found', says: ['NotFound'] },
  'a name that is taken': {
    status: 409,
    reason: 'AlreadyExists',
    words: 'apikeys "x" already exists',
    says: ['AlreadyExists'],
  },
  'another version': { status: 409, reason: 'Conflict', words: 'the object has been modified', says: ['Conflict'] },
  'too many requests': { status: 429, words: 'slow down', says: ['Unavailable'], message: /too much to do/ },
  'a server that is broken': {
    status: 500,
    words: 'etcdserver: no leader',
    says: ['Unavailable'],
    message: /could not do it: etcdserver: no leader/,
  },
  'a webhook that does not answer': {
    status: 500,
    words: 'failed calling webhook "policy.example": connection refused',
    says: ['Unavailable'],
    message: /failed calling webhook/,
  },
};

describe('an error of the API server', () => {
  for (const [name, { status, reason = '', words, causes = [], says, message = /./ }] of Object.entries(CASES)) {
    it(`${name}: ${says[0]}`, () => {
      const error = accessErrorOf(
        new KubeError(`PATCH /apis/x: ${status} ${words}`, { status, reason, words, causes }),
      );
      assert.deepEqual([error.reason, ...error.fields.map(({ path, message: each }) => `${path}: ${each}`)], says);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /\/apis\//);
    });
  }

  it('a server that does not respond, or an unexpected error, is reported as unavailable without addresses', () => {
    for (const cause of [
      new KubeUnreachable('GET /apis/x: connect ECONNREFUSED 10.0.0.1:6443'),
      new TypeError('x is not a function'),
    ]) {
      const error = accessErrorOf(cause);
      assert.deepEqual([error.reason, error.cause], ['Unavailable', cause]);
      assert.doesNotMatch(error.message, /10\.0\.0\.1|function/);
    }
    const known = accessErrorOf(new KubeUnreachable('x'));
    assert.equal(accessErrorOf(known), known);
  });
});
