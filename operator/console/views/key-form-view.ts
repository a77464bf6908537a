/** [P] What the pieces of a key's form are made from, and the mark that somebody else has changed one of them. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { FormFault, KeyField, KeyForm } from '../forms/api-key.ts';
import type { EditField, OthersChange } from '../forms/key-changes.ts';
import type { GroupChoice } from './group-choices.ts';

export interface KeyFormView {
  readonly form: KeyForm;
  readonly faults: readonly FormFault[];
  /** Empty: none admits the namespace. */
  readonly groups: readonly GroupChoice[];
  /** Empty for a new key. */
  readonly others: readonly OthersChange[];
}

export const FIELD_LABELS: Readonly<Record<KeyField, string>> = {
  namespace: 'Namespace', name: 'Name', group: 'Group', account: 'Account', enabled: 'Enabled', limitUsd: 'Quota', period: 'Period', whenShort: 'When too little is left',
  expires: 'Expires', models: 'Models', maxConcurrency: 'Calls at once', keyType: 'Where the key comes from', secret: 'Secret', overlap: 'The old key', confirm: 'Name',
};

/** What somebody else has made of a field meanwhile, beside it. */
export function theirs(field: EditField, others: readonly OthersChange[]): Html {
  const change = others.find((each) => each.field === field);
  if (!change) return NOTHING;
  return html`<p class="key-theirs"><b>Changed meanwhile</b> to <q>${change.now}</q>${change.was === undefined ? NOTHING : html`; it was <q>${change.was}</q>`}. ${change.typed === undefined ? 'That is what the form shows now.' : 'The form keeps what you typed.'}</p>`;
}
