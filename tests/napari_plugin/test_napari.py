"""The napari plugin: manifest, layers, reader and widgets, in a real viewer without a screen.

``make napari`` runs these; where napari is missing they are skipped.
"""

from __future__ import annotations

import os
from dataclasses import fields

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
napari = pytest.importorskip("napari", reason="needs varfocus[napari] and Qt: make napari")
pytest.importorskip("pytestqt", reason="needs pytest-qt: make napari")

from npe2 import PluginManifest  # noqa: E402
from npe2.manifest.utils import import_python_name  # noqa: E402

import varfocus  # noqa: E402
from result_folders import result_of  # noqa: E402
from varfocus.errors import InputError  # noqa: E402
from varfocus.napari_plugin import channels, files, layers, reconstruct  # noqa: E402
from varfocus.params import ClassicParams, RobustParams, SolverParams  # noqa: E402
from varfocus.simulation import simulate  # noqa: E402

PATIENCE = 120_000
SCREENSHOTS = os.environ.get("VARFOCUS_SCREENSHOTS")

pytestmark = pytest.mark.filterwarnings("default")  # napari's own are not ours to fix


@pytest.fixture
def viewer(make_napari_viewer):
    return make_napari_viewer(show=bool(SCREENSHOTS))


def photographed(viewer, name):
    """Keep a picture of the whole window, for those who look."""
    if SCREENSHOTS:
        viewer.window.resize(1100, 700)
        viewer.screenshot(f"{SCREENSHOTS}/{name}.png", canvas_only=False, flash=False)


@pytest.fixture(scope="module")
def scene():
    return simulate("discs", shape=(72, 96), n=7)


def frames_layer(scene, **about):
    return napari.layers.Image(scene.frames, rgb=True, name="frames", **about)


def test_the_manifest_is_valid_and_everything_in_it_exists():
    manifest = PluginManifest.from_distribution("varfocus")
    for command in manifest.contributions.commands:
        assert callable(import_python_name(command.python_name))
    assert [sample.key for sample in manifest.contributions.sample_data] == ["discs", "cone"]


def test_layers_have_size_and_place():
    found = result_of(
        np.linspace(0, 2, 48).reshape(6, 8),
        focus=[0, 1, 2],
        unit="um",
        pixel_size=(0.5, 0.25, "um"),
        uncertainty=0.1,
    )
    made = [napari.layers.Layer.create(*data) for data in layers.result_layers(found)]
    assert [layer.name for layer in made] == [
        "all in focus", "standard error (µm)", "confidence", "depth (µm)"
    ]  # fmt: skip
    for layer in made:
        assert tuple(layer.scale) == (0.25, 0.5)
        assert {str(unit) for unit in layer.units} == {"micrometer"}
    np.testing.assert_array_equal(made[-1].data, found.depth)
    assert made[0].rgb


def test_the_surface_is_true_to_scale_and_lies_on_the_maps():
    depth = np.broadcast_to(np.arange(8, dtype=np.float32), (6, 8))
    found = result_of(depth, focus=[0, 4, 8], unit="um", pixel_size=(0.5, 0.25, "um"))
    (corners, faces, values), about, kind = layers.surface_layer(found)
    assert (kind, about["name"]) == ("surface", "surface")
    assert faces.shape == (2 * 5 * 7, 3)
    np.testing.assert_allclose(corners[:, 1].max(), 5 * 0.25)
    np.testing.assert_allclose(corners[:, 2].max(), 7 * 0.5)
    np.testing.assert_allclose(np.ptp(corners[:, 0]), 7.0)
    # Farther points have the smaller first coordinate: it points towards the lens.
    assert np.corrcoef(corners[:, 0], values)[0, 1] < -0.999
    napari.layers.Layer.create((corners, faces, values), about, kind)


def test_a_surface_of_unknown_size_says_so():
    found = result_of(np.linspace(0, 2, 48).reshape(6, 8))
    assert "not to scale" in layers.surface_layer(found)[1]["name"]


def test_what_a_layer_says_about_its_frames_is_used():
    layer = napari.layers.Image(
        np.zeros((5, 6, 7), np.uint8), scale=(2, 0.5, 0.5), units=("um", "um", "um")
    )
    stack = layers.layer_stack(layer)
    assert stack.unit == "um"
    np.testing.assert_array_equal(stack.focus, 2.0 * np.arange(5))
    assert stack.pixel_size.x == 0.5
    assert layers.layer_stack(layer, z_step=3.0, unit="mm").focus[1] == 3.0


def test_axes_before_the_frames_follow_the_sliders(rng):
    data = rng.integers(0, 255, (2, 5, 6, 7), np.uint8)
    layer = napari.layers.Image(data)
    stack = layers.layer_stack(layer, (1, 0, 0, 0))
    np.testing.assert_array_equal(stack.read(3), data[1, 3])


def test_one_picture_is_no_stack():
    with pytest.raises(InputError, match="one picture"):
        layers.layer_stack(napari.layers.Image(np.zeros((6, 7), np.uint8)))


def test_a_result_folder_opens(viewer, tmp_path):
    result_of(np.linspace(0, 2, 48).reshape(6, 8)).save(tmp_path / "out")
    assert files.get_reader(str(tmp_path)) is None
    for path in (tmp_path / "out", tmp_path / "out" / "run.json"):
        read = files.get_reader(str(path))
        assert [about["name"] for _, about, _ in read(str(path))] == [
            "all in focus", "confidence", "depth (frames)"
        ]  # fmt: skip
    viewer.open(str(tmp_path / "out"), plugin="varfocus")
    assert "depth (frames)" in viewer.layers


def test_samples_open_and_bring_their_focus_positions(viewer):
    viewer.open_sample("varfocus", "cone")
    stack = layers.layer_stack(viewer.layers[0])
    assert stack.unit == "m"
    assert len(stack) == 15


def test_from_frames_to_layers_surface_and_files(viewer, scene, qtbot, tmp_path):
    frames = viewer.add_layer(frames_layer(scene))
    widget = reconstruct.ReconstructWidget(viewer)
    viewer.window.add_dock_widget(widget, name="varfocus")
    assert widget.frames.value is frames
    photographed(viewer, "napari-frames")
    widget.z_step.value, widget.unit.value = 2.0, "um"
    widget.form.set("smoothness", 2.0)
    widget.form.everything.value = True
    widget.form.set("edges", "off")
    stages = []
    widget.work._reporter.step.connect(lambda stage, *_: stages.append(stage))
    widget.work.start.changed.emit(True)
    assert widget.work.cancel.enabled
    qtbot.waitUntil(lambda: widget.result is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: widget.work.start.enabled, timeout=PATIENCE)
    assert stages
    assert widget.result.params.robust.smoothness == 2.0
    assert widget.result.params.robust.edges == "off"
    depth = viewer.layers["depth (µm)"]
    np.testing.assert_array_equal(depth.data, widget.result.depth)
    assert 0 <= np.nanmin(depth.data) <= np.nanmax(depth.data) <= 12
    viewer.reset_view()
    photographed(viewer, "napari-maps")
    widget.folder.value = tmp_path / "kept"
    widget.save.changed.emit(True)
    assert (tmp_path / "kept" / "run.json").is_file()
    widget.surface.changed.emit(True)
    assert viewer.dims.ndisplay == 3
    assert viewer.layers[-1].name.startswith("surface")
    photographed(viewer, "napari-surface")


def test_a_run_can_be_cancelled(viewer, scene, qtbot):
    viewer.add_layer(frames_layer(scene))
    widget = reconstruct.ReconstructWidget(viewer)
    viewer.window.add_dock_widget(widget, name="varfocus")
    widget.work.start.changed.emit(True)
    widget.work.cancel.changed.emit(True)
    qtbot.waitUntil(lambda: widget.work.start.enabled, timeout=PATIENCE)
    assert widget.result is None
    assert len(viewer.layers) == 1


def test_every_method_and_parameter_is_offered(viewer, scene):
    widget = reconstruct.ReconstructWidget(viewer)
    of_method = {"paper": SolverParams, "classic": ClassicParams, "robust": RobustParams}
    for method, parameters in of_method.items():
        widget.form.method.value = method
        assert widget.form.parameters() == {}
        names = {field.name for field in fields(parameters)}
        assert names <= set(widget.form._fields)
        assert all(widget.form._fields[name][1].tooltip for name in names)
    widget.form.set("reblur", "off")
    assert widget.form.parameters() == {"reblur": "off"}


def test_what_is_wrong_is_said(viewer, qtbot):
    from napari.utils.notifications import notification_manager

    widget = reconstruct.ReconstructWidget(viewer)
    notification_manager.records.clear()
    widget.work.start.changed.emit(True)
    assert any("no layer" in note.message for note in notification_manager.records)


def test_depth_applies_to_other_channels(viewer, scene, qtbot):
    grey = scene.frames[..., 0]
    result = varfocus.reconstruct(scene.frames, "classic", align="none")
    for data in layers.result_layers(result):
        viewer.add_layer(napari.layers.Layer.create(*data))
    red = viewer.add_image(grey, name="red")
    widget = channels.ChannelsWidget(viewer)
    viewer.window.add_dock_widget(widget, name="channels")
    widget.reset_choices()
    widget.channels.value = [red]
    widget.work.start.changed.emit(True)
    qtbot.waitUntil(lambda: "red in focus" in viewer.layers, timeout=PATIENCE)
    fused = viewer.layers["red in focus"].data
    assert fused.shape == grey.shape[1:]
    # It is the red of the all-in-focus image, but for where another frame is sharper in red alone.
    assert np.abs(fused.astype(int) - result.fused[..., 0]).mean() < 3
