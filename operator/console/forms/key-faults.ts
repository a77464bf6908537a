/** [P] What the API refuses, at the fields of the form that it speaks of. */
import type { AccessError } from '../access/access.ts';
import type { FormFault, KeyField } from './api-key.ts';

/** By the API's paths: the control that says it. */
const CONTROLS: readonly (readonly [string, KeyField])[] = [
  ['metadata.name', 'name'],
  ['metadata.namespace', 'namespace'],
  ['spec.groupRef', 'group'],
  ['spec.accountRef', 'account'],
  ['spec.enabled', 'enabled'],
  ['spec.quota.limitUsd', 'limitUsd'],
  ['spec.quota.period', 'period'],
  ['spec.quota.whenShort', 'whenShort'],
  ['spec.expirationTime', 'expires'],
  ['spec.models', 'models'],
  ['spec.maxConcurrency', 'maxConcurrency'],
  ['spec.key.type', 'keyType'],
  ['spec.key.secretRef', 'secret'],
  ['spec.key.overlapSeconds', 'overlap'],
];

/** The refusal as faults: each at its field, in the API's words; what has no field, and what was no matter of fields, at the top. */
export function faultsOfRefusal(error: AccessError, present: readonly KeyField[]): FormFault[] {
  if (error.fields.length === 0) return [{ field: error.fault === 'AlreadyExists' && present.includes('name') ? 'name' : undefined, message: error.message }];
  return error.fields.map(({ path, message }) => {
    const field = controlOf(path);
    if (field !== undefined && present.includes(field)) return { field, message };
    return { field: undefined, message: path === '' || message.startsWith(path) ? message : `${path}: ${message}` };
  });
}

function controlOf(path: string): KeyField | undefined {
  return CONTROLS.find(([place]) => path === place || (path.startsWith(place) && '.['.includes(path.charAt(place.length))))?.[1];
}
