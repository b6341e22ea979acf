// What is loaded behind the server, as its /v1/models and /clasp/info tell.
import * as api from './api.js';
import { told } from './estimate.js';

const named = (list) => (list ?? []).map((item) => (typeof item === 'string' ? { name: item } : item));

export const model = { id: '', version: '', classes: [], methods: [], budget: '33%', method: '', limits: {}, hasVision: true, nVisual: 0 };

async function loadInfo() {
  const info = await api.info().catch((error) => {
    if (error.status === 404 || error.status === 501) return {};
    throw error;
  });
  told(info.timing);
  return info;
}

// What the server has learned since.
export const loadTiming = () => loadInfo().catch(() => {});

export async function loadModel() {
  const [list, info] = await Promise.all([api.models(), loadInfo()]);
  model.id = list.data?.[0]?.id ?? '';
  model.version = info.version ?? '';
  model.classes = named(info.classes);
  model.methods = named(info.methods);
  model.limits = info.limits ?? {};
  model.hasVision = info.model?.vision ?? true;
  model.nVisual = (info.model?.grid ?? [0, 0]).reduce((columns, rows) => columns * rows);
  model.budget = String(info.defaults?.budget ?? '33%');
  model.method = info.defaults?.method ?? '';
}

// "33%", 64, "none" or "auto" as a share of all visual tokens; null for auto.
export function budgetShare(budget, nVisual) {
  if (budget === 'auto') return null;
  if (budget === 'none') return 1;
  if (String(budget).endsWith('%')) return parseFloat(budget) / 100;
  return nVisual ? Math.min(1, Number(budget) / nVisual) : 0.33;
}
