/**
 * The demo provider's videos: jobs that take a few seconds, and fail if the prompt asks for it. They are kept in
 * memory.
 */
import { film } from './film.ts';
import { BadRequest, requiredText } from './prompt.ts';
import type { Json } from './prompt.ts';
import { behaviourOf } from './rules.ts';

export interface Videos {
  /** POST /v1/videos. @throws BadRequest */
  make(id: string, fields: Json): unknown;
  /** GET /v1/videos/{id}; undefined if there is none. */
  find(id: string): unknown;
  /** GET /v1/videos/{id}/content. */
  content(id: string): Uint8Array | undefined;
  /** DELETE /v1/videos/{id}; false if there was none. */
  remove(id: string): boolean;
}

interface Job {
  readonly model: string;
  readonly prompt: string;
  readonly seconds: string;
  readonly size: string;
  readonly createdMs: number;
  /** The time from its creation to its end. */
  readonly takesMs: number;
  readonly fails: boolean;
}

const MOST_JOBS = 1000;
const SLOW_TIMES = 10;

/** `takesMs` is how long a video takes; ten times that if the prompt says "slow". */
export function createVideos(takesMs: number, nowMs: () => number): Videos {
  const jobs = new Map<string, Job>();
  const show = (id: string, job: Job): unknown => view(id, job, (nowMs() - job.createdMs) / job.takesMs);
  const oldest = (): string => jobs.keys().next().value ?? '';
  return {
    make(id, fields) {
      const prompt = requiredText(fields, 'prompt');
      const { slow } = behaviourOf(prompt);
      const job: Job = {
        model: requiredText(fields, 'model'),
        prompt,
        seconds: textOr(fields, 'seconds', '4'),
        size: textOr(fields, 'size', '720x1280'),
        createdMs: nowMs(),
        takesMs: Math.max(1, takesMs * (slow ? SLOW_TIMES : 1)),
        fails: /\bfail later\b/i.test(prompt),
      };
      if (jobs.size >= MOST_JOBS) jobs.delete(oldest());
      jobs.set(id, job);
      return show(id, job);
    },
    find(id) {
      const job = jobs.get(id);
      return job && show(id, job);
    },
    content(id) {
      const job = jobs.get(id);
      if (!job) return undefined;
      if (job.fails || nowMs() - job.createdMs < job.takesMs) throw new BadRequest('', 'the video is not completed');
      return film(job.prompt);
    },
    remove: (id) => jobs.delete(id),
  };
}

function textOr(fields: Json, field: string, otherwise: string): string {
  const value = fields[field];
  return typeof value === 'string' && value !== '' ? value : otherwise;
}

/** `done` is the progress from 0 to 1, and may exceed 1. */
function view(id: string, { model, prompt, seconds, size, createdMs, takesMs, fails }: Job, done: number): unknown {
  const status = done >= 1 ? (fails ? 'failed' : 'completed') : done > 0.25 ? 'in_progress' : 'queued';
  return {
    id,
    object: 'video',
    model,
    status,
    prompt,
    seconds,
    size,
    progress: Math.floor(Math.min(1, done) * 100),
    created_at: Math.floor(createdMs / 1000),
    completed_at: status === 'completed' ? Math.floor((createdMs + takesMs) / 1000) : null,
    expires_at: null,
    remixed_from_video_id: null,
    error:
      status === 'failed' ? { code: 'demo_failure', message: 'the demo provider failed, as the prompt asked' } : null,
  };
}
