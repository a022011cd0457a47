// varfocus for ImageJ and Fiji: depth, confidence and all-in-focus image of the open stack.
//
// Install: Plugins, Macros, Install...; or copy this file into the folder plugins/ and restart. It saves
// the stack in a temporary folder, calls the command line of varfocus on it, and opens what comes out:
// depth with the pixel size of the stack and values in its unit of length, so that Plot Profile and
// Measure give heights.
//
// From another macro: runMacro("/path/to/varfocus.ijm", "program=varfocus options=[--smoothness 2]")

macro "Depth from Focus (varfocus)..." {
    if (nImages == 0) exit("Open a focus stack first: one slice per focus position.");
    getDimensions(width, height, channels, slices, frames);
    if (slices == 1 && frames == 1) exit("The open image is one picture. Open all frames as a stack:\nFile, Import, Image Sequence.");
    getVoxelSize(across, down, step, unit);
    known = isLength(unit);
    program = call("ij.Prefs.get", "varfocus.program", "varfocus");
    options = call("ij.Prefs.get", "varfocus.options", "");
    towards = false;

    given = getArgument();
    if (given != "") {
        program = argumentOf(given, "program", program);
        options = argumentOf(given, "options", "");
        towards = indexOf(options, "--invert") >= 0;
    } else {
        Dialog.create("Depth from focus");
        Dialog.addString("Program:", program, 40);
        Dialog.addNumber("Distance of slices:", step, 4, 9, "");
        Dialog.addString("Unit (um, mm, ...; empty: depth in slices):", unit, 9);
        Dialog.addCheckbox("Heights, not distances: larger towards the lens", false);
        Dialog.addString("Options of varfocus depth:", options, 40);
        Dialog.addMessage("For example: --smoothness 2    --method paper    --unknown nan");
        Dialog.show();
        program = Dialog.getString();
        step = Dialog.getNumber();
        unit = Dialog.getString();
        towards = Dialog.getCheckbox();
        options = Dialog.getString();
        known = isLength(unit);
        call("ij.Prefs.set", "varfocus.program", program);
        call("ij.Prefs.set", "varfocus.options", options);
    }

    folder = getDirectory("temp") + "varfocus-" + d2s(getTime(), 0) + File.separator;
    File.makeDirectory(folder);
    title = getTitle();
    original = getImageID();
    Stack.getPosition(channel, slice, frame);
    setBatchMode(true);
    // One channel and one time; a stack over time alone is taken for one over focus.
    if (slices == 1) run("Duplicate...", "duplicate channels=" + channel);
    else if (channels > 1 || frames > 1) run("Duplicate...", "duplicate channels=" + channel + " frames=" + frame);
    else run("Duplicate...", "duplicate");
    if (slices == 1) {
        count = nSlices;
        run("Properties...", "channels=1 slices=" + count + " frames=1");
    }
    saveAs("Tiff", folder + "stack.tif");
    close();
    setBatchMode(false);
    selectImage(original);

    words = newArray(program, "depth", folder + "stack.tif", "-o", folder + "result", "--no-report");
    distance = plain(unit);
    distance = "" + step + distance;
    if (known) words = Array.concat(words, newArray("--z-step", distance));
    if (towards && indexOf(options, "--invert") < 0) words = Array.concat(words, newArray("--invert"));
    if (options != "") {
        more = split(options, " ");
        words = Array.concat(words, more);
    }
    showStatus("varfocus: working on " + title);
    said = execute(words);
    if (!File.exists(folder + "result" + File.separator + "run.json")) {
        exit("varfocus did not finish. Try in a terminal:\n" + String.join(words, " ") + "\n" + said);
    }
    showResult(folder + "result" + File.separator, "fused", title, "", 0);
    showResult(folder + "result" + File.separator, "confidence", title, "", 1);
    showResult(folder + "result" + File.separator, "depth", title, "fire", 0);
    showStatus("varfocus: results are in " + folder + "result");
}

// exec() takes its words one by one, not as an array: write the call, and evaluate it.
function execute(words) {
    code = "return exec(";
    for (i = 0; i < words.length; i++) {
        word = replace(words[i], "\\\\", "\\\\\\\\");
        code = code + "'" + replace(word, "'", "\\\\'") + "'";
        if (i < words.length - 1) code = code + ", ";
    }
    return eval(code + ");");
}

// Open a result, name it after the stack, and choose a display range: 0 to a limit, or what fits.
function showResult(folder, what, title, colours, limit) {
    path = folder + what + ".tif";
    if (!File.exists(path)) path = folder + what + ".png";
    open(path);
    rename(what + " of " + title);
    if (colours != "") {
        tables = getList("LUTs");
        available = "," + String.join(tables, ",") + ",";
        if (indexOf(available, ",mpl-viridis,") >= 0) run("mpl-viridis");
        else run("Fire");
    }
    if (limit > 0) setMinAndMax(0, limit);
    else if (bitDepth() == 32) {
        getStatistics(area, mean, least, most);
        setMinAndMax(least, most);
    }
}

// Units of length, as varfocus spells them; ImageJ may write the micro sign.
function plain(unit) {
    unit = replace(unit, fromCharCode(181), "u");
    if (unit == "micron" || unit == "microns") return "um";
    if (unit == "inch") return "in";
    return unit;
}

function isLength(unit) {
    names = newArray("nm", "um", "mm", "cm", "m", "in");
    spelled = plain(unit);
    for (i = 0; i < names.length; i++) {
        if (spelled == names[i]) return true;
    }
    return false;
}

// The value of key=value or key=[value with spaces] in the argument of a macro.
function argumentOf(text, key, otherwise) {
    at = indexOf(text, key + "=");
    if (at < 0) return otherwise;
    rest = substring(text, at + lengthOf(key) + 1);
    if (startsWith(rest, "[")) return substring(rest, 1, indexOf(rest, "]"));
    end = indexOf(rest, " ");
    if (end < 0) return rest;
    return substring(rest, 0, end);
}
