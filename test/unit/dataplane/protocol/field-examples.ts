/** The examples of each field table, for its tests. */
import type { KindTable, ObjectTable } from '../../../../dataplane/protocol/field-table.ts';

export type Fields = Record<string, unknown>;

export interface Examples {
  readonly table: ObjectTable | KindTable;
  /** The smallest object of its kind. */
  readonly base: Fields;
  /** The object where it belongs in a request. */
  readonly place: (object: Fields) => Fields;
  /** For each field one value, and what else the object needs for it. */
  readonly values: Record<string, unknown>;
  readonly beside?: Record<string, Fields>;
  /** Fields that are converted although they do not occur in the request. */
  readonly unseen?: readonly string[];
  readonly model?: string;
}
